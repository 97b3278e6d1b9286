/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:2445790a7fb496e3dbfbecec46c1d85e09d89c371ad04c604541f6f585566920";
