/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:b80cb807fcea1d14474dfe10e45be01573684e89d0bec28f5873a2ee6e7a1b00";
