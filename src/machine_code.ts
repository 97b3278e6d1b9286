/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:d90816597af22df6ee3fc4908fb098f940d6957cd5c922a6fc31254004199ddb";
