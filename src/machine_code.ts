/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:14af93b29fa918f3587e61e8652f49107502c974dbbb8d2f9c09a1d7da31c1d4";
