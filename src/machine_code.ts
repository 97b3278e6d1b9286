/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:c5ed492cf73b27415cc4a8b48a740edc16296391756b9a5ab8c45c910d4f7fb2";
