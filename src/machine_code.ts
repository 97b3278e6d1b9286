/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:fd808733f8463f0324627af386c27634d72f3be3d1ccbeca463f5184bf3d8699";
