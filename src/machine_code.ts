/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:19289c3bf055ee5da1193d060dec25834f87f6f82e138ec43b6f5aedb158138e";
