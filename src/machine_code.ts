/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:0d52d4943cfc7f02c5ecb53198ae15c2120b5252719f77b4dac027a3079e529b";
