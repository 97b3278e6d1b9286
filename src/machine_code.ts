/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:af423bc83e7b877b363f2b56a1b7fdf706c4e1d508586b0be69e2e09cee5a965";
