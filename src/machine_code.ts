/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:98aad572172976b16c9bdbfd2c510d83aaddbe5437f1d46987c44b1da51ac0ce";
