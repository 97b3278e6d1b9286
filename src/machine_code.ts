/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:a42fcb193cd22d8fb893d7d4346aba3b5789c3f7fde086a35935a5c3a1fded91";
