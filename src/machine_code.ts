/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:cad69dfbe95f93a2ba262793637b9cf0373add8b451a076efa146466d0f10b46";
