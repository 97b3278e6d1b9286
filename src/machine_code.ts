/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:aa9f6872020b097a638daa5ba9300b4f9f4a9b53eae847281da5702bc47746fb";
