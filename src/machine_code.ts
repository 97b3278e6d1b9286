/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:6d75a9bdc9dc746f44938da8e3499e5a187be9558863b88e1a7d6934d4d965ea";
