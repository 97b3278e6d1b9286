/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:c0a961fc0c4afbca4bee5d289b2235623a91d84decfc3df8ed46d3b8fa4a8577";
