/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:9ba61efbe81f4dd6df36a5b616bdf2c490112806fe41da43b6abf16677c2eb24";
