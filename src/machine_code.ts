/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:56872c935cf9b9e6c3e525cbe1f1860a49cf2f6a0c388dff8f8fbdcbadd860d2";
