/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:2245b82fa4e641eaf65ce3b4ecbb8bc65961d02e3cd05de50529277c61d7243c";
