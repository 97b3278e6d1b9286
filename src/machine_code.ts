/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:52d1858d89d0a920d78c4263b4ce9609364ac7548f2eb2d40e18dd1460d0424c";
