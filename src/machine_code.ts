/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:7b3bbac1c3a5dd4f60c9603a673329a9388ba831e33de22c473aa8040fd49fea";
