/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:7bdb3c8d26781ba817b042eb797676f7a28b08f9fc65d738277753cef984a369";
