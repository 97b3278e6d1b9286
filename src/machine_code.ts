/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:8893bbe55005c9ab3071a9ce82457c175e51fe1d00838a8e00f60d1313dab43a";
