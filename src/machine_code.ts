/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:e503a7feee94b81b04d0fbfd96914018d5c78f08701eae83efb01d3223ad87a8";
