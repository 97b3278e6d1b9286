/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:ef7a326ac94e37a0a953b0e8dc303f6420c3609d1ea0d0c8b8538d98f9ac76a2";
