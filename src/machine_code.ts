/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:3a1ae8089857044aae14f850ca46c267ee3e177d1c3871b9ed7d88ddab0c42aa";
