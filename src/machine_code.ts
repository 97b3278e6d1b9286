/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:e166f32acb934ab20d7adad9905531b00f8abddef4d994785f6bc2bc7fde6086";
