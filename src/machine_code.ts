/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:940670982aba808f44873cae6208f1d702dea2b5ae57136e7d59772b6e083b5f";
