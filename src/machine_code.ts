/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:2d8512a27e066aee2a3883480f017c598088a32fcceb31b420a504f80fc56ae2";
