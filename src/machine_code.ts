/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:fdf7d856c55a690754c7d79b802ae97ac90058380ddf039d4a0faf0bbbee39a6";
