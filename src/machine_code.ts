/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:5c4fddc1be2b3fa8c2c585a4d02d7c7c9d0a73ff60a63d970e6b94c7aecb2bb3";
