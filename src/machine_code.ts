/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:8a42f2ceb0e6f756ac6707cc321f6d39e8a535c77260cc7d31cf3d66d07e9cf6";
