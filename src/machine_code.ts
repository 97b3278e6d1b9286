/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:782ae9c9fd4928027e10c67ce491fbedf2fe7b448e10c8c5e264f2ee0851aaa3";
