/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:1bef026bf96e1b1f068211d5b6b6df0342c45f613b984aefd340c3ccb0358335";
