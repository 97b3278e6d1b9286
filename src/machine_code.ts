/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:55b4c4d6932072e7ff19461c86b147b8b4f36f0f7712b032f3e5c634e44906ad";
