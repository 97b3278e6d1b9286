/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:e20693d5331283104a2d5ca1b1936dfdcb8c136513ca117fc083b71701bc5615";
