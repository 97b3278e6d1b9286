/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:37425942952d28bba0a176861743a10ff0c3704104b1b584e57b957eca082e9c";
