/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:cf07d3adac5abb7e251b5e0eaf2b9a90492b892b61baa17eb3d5228a93ac2864";
