/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:fa00317cd70d29ed84faffe5a8877700ae17127658d5c09a9e1ddc98910216dd";
