/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:1c4f5fdccc86ec16c42fe3eaf7cbf52bf7c3aad0f4ce5fa9d54dbccca29feab0";
