/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:1c365ba08384a15dcb5b1e79597f4f4edb2677c289619552dc91e9af6d160809";
