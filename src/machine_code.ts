/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:bb466f3b2351ece93920646571abca6d3bc0e7261113283c584b9f6a5105ff58";
