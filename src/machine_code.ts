/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:4be00667c7f120b4b4b42aac7afe122b0f8541b2838ef79da2531e951a5dc8a0";
