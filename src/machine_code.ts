/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:c107ce2d483988588ef36d87f70377d1a6a4ccdda60a82af1f7fbf46b01ea8a0";
