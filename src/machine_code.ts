/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:995291b12c5460ee71e3f2c2b5d2a2c735dfb720918940b102f6d9d051455d18";
