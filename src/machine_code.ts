/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:a47e4eb5f8e6f389f0b52a134508aeb30c02f3d8fc9a1be78baf8409fc467b50";
