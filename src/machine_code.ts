/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:e0237383a5287205fcbda21d06ec6f3eb16594da6f896ba06035e2c15a415a3e";
