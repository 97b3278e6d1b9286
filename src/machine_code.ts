/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:e11d40689f4971c5f1b48b68d5c956d5a5b9ab2b32654aecfb7979787718f6e3";
