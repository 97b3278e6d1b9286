/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:2248352df7a2ac65f35c4194810d6402d355bf7e787e57aaeee54523c9556e09";
