/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:ba65ddd15a8fcb74b7a3c2cfb16a21ecadfd6377543f23ac2d1255ca5c892a7d";
