/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:e3b01aeffe3c44d031b616a6807951d0b4f74c1eec956cdd47653e95ef0335ac";
