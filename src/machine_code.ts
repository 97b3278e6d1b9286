/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:b43de011ed6a28700978a8af5cf9f68af65bc909dd7b352c2977de8cc832d06c";
