/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:477f5f214c76edbb8d44af40eadba3d65105a21d9031132599ce9d67c231a299";
