/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:58124f02d5b00c51fd771887f8413d014f42480e41809456270358812168a5e7";
