/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:ca0e2545c36932ded44787b20fd77915803082cafd25da2e33a35a97a0ed2b9a";
