/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:269fef664cf8fca7244d7d783fbbd7909d5241137cfaff2b9b1b74ff0ee4a22b";
