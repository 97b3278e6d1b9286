/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:56fd2cb5c94f47c800dc3176910a9b21b7fa917bc2af1602c119f24f337aa244";
