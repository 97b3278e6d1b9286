/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:6ea0f0ddd92234668379c57e9591dbabf3297e5c04ce6755ba72d2ab01260124";
