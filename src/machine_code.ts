/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:cb64e0c768571e4ff061821480134f3a04011eda57d7fdecfc67467e7cc01ed0";
