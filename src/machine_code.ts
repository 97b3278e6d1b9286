/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:68047abcb8d285eecd85c9f70208aaae00e357b6d8f1f3495f8c07e76dac2253";
