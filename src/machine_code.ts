/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:5b2f48c879e6efeee9b281fab01c746444415cd494af484f3b4c04e511a5d4d8";
