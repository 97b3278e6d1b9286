/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:1fe0924a346618781560c5f86865e781c021aa106ac7554a45c1d9f547e66f98";
