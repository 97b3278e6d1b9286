/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:d7e50ab2d549a3f7cf3418b307dcbc0a6df6b3217a6bf665a1927c6c8165cf41";
