/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:70c5e0be77babf51a90f053bf228ad5bdea7a9c9a695edf3b7873b7693cb8127";
