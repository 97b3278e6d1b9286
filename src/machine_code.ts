/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:bd5dd3287b413c813c0c8fc84e82ea548a5779f77b24d27ec8cdd38fb1e2c173";
