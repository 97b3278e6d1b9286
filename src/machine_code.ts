/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:873be6aa599014892a91fb59d02e0db0f303a50b561649b9e668b9071bac6b2e";
