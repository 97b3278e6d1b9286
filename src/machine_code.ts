/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:e14bb459ea7b838cec17ca7a0027ba68207e0684279aa397aaab40f97e55180e";
