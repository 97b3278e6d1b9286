/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:d8a11c606c6808bdf84d78612c4e5396a104cde48a231745e8f03a9f780aec41";
