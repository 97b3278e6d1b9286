/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:912fbc6feb1dfb819128a22aea029c0d92e71f29075d340a18d25b3a07f82a80";
