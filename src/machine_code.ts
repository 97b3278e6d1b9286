/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:61b896c2d8d31ed03dbd4eaa6f2544dc4eff81639f86ba7f45a7cfee4f2c4abf";
