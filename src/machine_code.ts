/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:2e5631f47c90fb811dbbf53edbf46c538d419ffa521c837f0d9a9e8f22f9e336";
