/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:a75e469c1fbb9ff6d20f615ca03778cba58a22bc4cbc720b08ce67dfdf357c08";
