/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:62dc3452b8e12737ab8a3034caa1108908b0a71733de5a6e50dd31a14adbc376";
