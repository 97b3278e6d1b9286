/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:203bcac7672745020f4b429b3454da53f4cfbd39be76e9ec4fec1c9a2b8ea53b";
