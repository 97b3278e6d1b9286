/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:89e95ec05c763c98eb60b812b24890c030166b597e7cc8b06f11fcac9b73e3a8";
