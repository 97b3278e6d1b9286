/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:a529fb3fc0ea116ee31f828bd2409d14c79ada5e28a163e93132167a4bb92fdb";
