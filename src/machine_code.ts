/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:c0875bce2ef73a78e9a1c0a46c1e801d58062a1302272b416a338c00403af053";
