/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:5841c826da978685638daa0084a75752564ad9a9e8852f26a7c38d0f1badb180";
