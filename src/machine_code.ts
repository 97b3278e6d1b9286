/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:6cb1ba61f3b39bae2f4d025f19e64f47f6457a88ac1d4c77a8660753bd97f669";
