/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:1d5b687b96a75c232f47158f649c2ccc7a0c94e90c6157bd349aa63c2c59ca4c";
