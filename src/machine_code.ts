/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:679ef0575cb9c8e04ea5990f8defac9ee9a3b8ddf23220f92f3af1faaf810ca5";
