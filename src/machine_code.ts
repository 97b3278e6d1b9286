/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:7482d2535d9707a20391f1e93a010d8d24874ce461d477d1c7082042dddb1e4e";
