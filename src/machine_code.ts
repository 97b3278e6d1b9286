/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:d970da8bdf1226f98fa8087890f2a259967a510e386b562f1bf8ed85d1dcfc38";
