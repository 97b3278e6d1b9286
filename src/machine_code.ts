/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:bc97b9862f65652faaef604aa511d730007ef1e6dcef54e0a0b85eebe427e709";
