/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:1f4e89cd11de99a8772abcfdd7ce03cea91475a61e012c2b55e7a66020a04100";
