/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:1a5bc897947cf6c88ffa2ddc645df8b42c928b4f55e07a2bb40a93a0fe699674";
