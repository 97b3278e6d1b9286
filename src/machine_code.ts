/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:1bc2628ec90e314f8179aaae8b415259106f36992b36ce28bbb4f5f7de087be8";
