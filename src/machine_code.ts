/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:c9b6c1cf67c515d276f10e922c77d1e4928e4a425e8ba84e16ca4c9877546c42";
