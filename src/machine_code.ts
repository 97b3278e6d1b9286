/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:0599f1f587df133a172c2e2148a6ff6fbee1b4a20a629dbd1d0d70063b80e90e";
