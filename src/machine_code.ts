/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:5c9f807cb9b6930fceffdc6c9990df4892e7ec313585240cbe90fedea9af17c6";
