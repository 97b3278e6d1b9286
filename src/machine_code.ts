/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:7258bfa6c8adb31ed35004c771106c41ad12d9869d27b91aff66b4d0897c2d93";
