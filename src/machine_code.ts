/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:49c359abafd81d8afbffc3b452456aa889463807bded65751e59660af5d8e226";
