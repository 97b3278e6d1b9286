/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:f6ec8cff56e27e87965323543145ca8054c83813a2c527fbfdbfa1cb720b3203";
