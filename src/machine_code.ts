/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:3297ea17b7527d59e1e4246030dff81c526bb5118565289445b84bed6b858e2b";
