/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:73be1a082292589084e680981b2adc1b397cacba9c0178caf9f646622a59b14e";
