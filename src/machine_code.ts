/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:7fee9b575fb09176de9d837a71702b4ab487da1038f2dc6b8842849bcebd024a";
