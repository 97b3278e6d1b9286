/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:74c8cd452f5b89a1b13399160cc81cf5b383d437ff6c88f18c04ef77f2c605a9";
