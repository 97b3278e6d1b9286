/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:2841c43ecd6097b57999bd4d1f5588ba7df7ec6f4651a4821cb2d7486f9e8d17";
