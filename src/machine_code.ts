/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:f84bcd3075a8d5d2e6ac5671e4731c53b26d5483745717f38ab5c303cb2a61e0";
