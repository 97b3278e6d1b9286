/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:0d8f7e65a1881f84f1941fd25295cdc558ac6bb7c2b3e1f8964bd07ba1f7851a";
