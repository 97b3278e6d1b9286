/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:c1cf6dc2238dea1f0509dc6b8765b87c98325017db5315058b5e0a73134be993";
