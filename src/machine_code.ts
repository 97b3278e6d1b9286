/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:73f2e1e53d42b86b78f78fdb5c9ad5ef95ed8b8da6162d1fc6d94b1fa182858a";
