/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:88965c079080ab361fc9fa70da05f15ed101510808bc54aaf5776536eaafce63";
