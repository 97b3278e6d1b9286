/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:803ffc0ee42f7a10a9af4c42e81a17ad55dfa467f663c166d42092c942d058fa";
