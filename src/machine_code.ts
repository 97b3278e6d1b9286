/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:13d1eb81a4d0ed664a30c16cd0e2962b0278928356cd8c7888860e73c2682086";
