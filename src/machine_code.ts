/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:fa5c654a03a8e693e23133fb5eb01e115fbb63c0aa3e0042198aeb3862798408";
