/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:429e2118fba8af24026fc3475c2b218bbc16f7ba498b6639d05029c7904ae5f5";
