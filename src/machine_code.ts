/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:97bb63ad4a819dda02fcafe0c223943313f4375b45ab1c3921600581652836c0";
