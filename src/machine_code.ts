/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:21216b6ed106e07413c99e47aa8fea82e4971c199d7335235ed6c320e34161cc";
