/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
