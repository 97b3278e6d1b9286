/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:8ec77dff21eb3c97ffbc189c84df4799b90e53ce211a86ee9b8524ae71b78029";
