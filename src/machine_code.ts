/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:0a8474b058dd3d62d65de45358f1b920275ce511a139bf0f467dc6bbca8d9a2e";
