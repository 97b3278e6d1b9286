/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:4ccd82f220335f734bf97237cc766f975f2280a05e27c47b1d2a868febb62922";
