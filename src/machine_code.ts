/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:b3b5ca5118dec71fece8a079ac60b2e8f5963e3520de499ba920a516d5103474";
