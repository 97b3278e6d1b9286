/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:b3fda956cf9ed2f9ef7be8f7ce37673e32fce049e4097233060a7d1c9984da26";
