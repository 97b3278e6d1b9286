/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:ca4f46285e43511731c6aa852385ddf167dade5b9848fa342532cfa4af54d6d6";
