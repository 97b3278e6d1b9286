/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:b94ddccfd789f3b5614601da8ddddd5d0b54e6f6c7225a23777014144649f5dd";
