/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:3ed1bc4b77cdb629b62b9c5e42e7056a1709095cf7889ec28ba995c204d2f82e";
