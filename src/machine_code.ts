/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:f334785deb650359f9f3a635c7acdc9fcb691e8b1bb60e56539e06581c7acb0a";
