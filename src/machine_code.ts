/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:4fb1a0e4577c3c70a385a8a9ef8fbd9a5bd01710d0cc531ded76507011078c98";
