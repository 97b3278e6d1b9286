/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:1e3716b6851f5cc2e8c1894bffa46e2adac4058ac17ad773e2838ab1f50665d4";
