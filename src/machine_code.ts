/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:b9abf9a26404f7cf3fed20781c07cbec3b0ea025e318549f66ede73760e24bfb";
