/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:a3c41a0417413ef85cc3cf518bc65574fc212bba851959bbed72c7ade68c2872";
