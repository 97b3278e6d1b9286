/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:5340ccc15f6a516beb2c3a6a3913ed539c27d45e609f1306049e7305a75be7e0";
