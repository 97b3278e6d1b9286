/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:73994035103de0a92abbb5af951d652734f5bcf1cac29f0bdb7a672b6bf7733d";
