/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:8185162886b0e960d5d03ba4b3cf7f035639d741b6adb8c6ac7da587b114826f";
