/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:bf059c2d8922712a1d8963797f63ddfb562c7c3f0f1f7f9b1b20175b1bdbe7a8";
