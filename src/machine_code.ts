/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:c77db364bc92b4c100592b957aab75cfcb5f795dd8b3ab72faa15217b16aa0be";
