/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:1827dd92444ceca5e99200822ad6f3f1d467e407052b83f15aa693f4532310e7";
