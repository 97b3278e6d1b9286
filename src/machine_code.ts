/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:9455eb774caee4c99836f9cb3b2fad6faf97957b98c67a6aa358ecabf046b14f";
