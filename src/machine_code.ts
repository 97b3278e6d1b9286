/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:3d1e9ce62f8fab69e45911f7bee95689415ea0249a434d9e22a48b3f659e79d6";
