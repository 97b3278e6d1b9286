/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:25deffe37828e2c97e5100fe756dda07a9f3911a5b57493c2690437110923b21";
