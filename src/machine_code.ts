/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:51987ab52a8c94c84d44e3877929638e17bb26a1c2d0a616efcb6f5b63de28e9";
