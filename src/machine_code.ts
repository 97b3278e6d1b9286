/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:14a7887e48c7f5ae9d9151e18d51aa1c9f0b424ed272936caf5175352684e615";
