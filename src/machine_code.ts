/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:e0ae4c0d016690c9d83741edf4d0489e96945e4c486c603b0685705fd01e18f3";
