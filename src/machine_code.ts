/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:9e6205fd45e5245b57ade8096bc8aed33cd42d5082633060da39c0c2c3de6159";
