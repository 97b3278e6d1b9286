/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:a2a0c00a21b2bdeee6f8b27ae9721b4a7e0e23bf414d0ac41c1004d5c8410313";
