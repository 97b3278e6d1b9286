/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:426c175b5d03deccbb0faf900c187f791167456db6a6d54cf45c21ace11c0973";
