/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:b76f326a5735a3abe98531447362d8c2f392d84c7a23fce4ec07a4817cc4ba1c";
