/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:1cc485e0942689485091cc92bcfc87cb08e3cc13b345306b74baf6d81babf4ee";
