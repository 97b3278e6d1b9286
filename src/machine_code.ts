/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:b345cfed26222ed602d08cdc125d07ebca8b17900d65136aeb57157791a4842c";
