/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:3ef2e75e428a3fc7faa05023afd7eedd2962a618628ffe116422b7c2aeea9e3c";
