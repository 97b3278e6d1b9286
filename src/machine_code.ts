/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:77c5c0d829db74f33553f7959b18c1925f8f2e2a870873959ed4e738067b71df";
