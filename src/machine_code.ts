/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:c0a44768fc290781044ea6fe57398aba61a469b48f806df3ba456db156c4f1b0";
