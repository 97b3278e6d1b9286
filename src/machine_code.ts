/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:e4e167857434d653ebd305de49deb5b32ae29fc6ac42e5e4aeb90366a4c5ef77";
