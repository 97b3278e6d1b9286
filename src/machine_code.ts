/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:1297517e43b6afd8f9f43c961fe89224a7f7139c1af7fcff221c9e54f985af06";
