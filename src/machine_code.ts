/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:3cab7c36190146297b4bab8d61f01f57f7d655f42975470d718cafca886a14a6";
