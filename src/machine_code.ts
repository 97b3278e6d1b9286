/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:2957fd257e1be9ab0e881a608c0de0c0c25b3aa2f6a850c0c7ec05196b160e0b";
