/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:e8af200b42bd749346b6d313527edad58d956d7accabda4e8ce12e39b9c8f860";
