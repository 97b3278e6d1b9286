/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:72fac86d19587c95d49df287e89c5cad042c2f533030ba332c2f44351c68af25";
