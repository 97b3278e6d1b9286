/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:c0109d7ab5a685bebbb6fec6d0dbce78791652c01c591c44121304032b4070c9";
