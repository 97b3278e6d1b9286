/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:d24be5f45840fa0d3a00ea5d188615d5391cee3575c55bad6855673263d4245b";
