/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:cbc3dc89dae31d82bf4091d641819e7e388ed3cd50bd0c34d0cbedfcef954ca3";
