/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:de9a6059b4db0fd7031f1f086f91a7b34db0ef4a1dd24dd60a225fda02fdcadd";
