/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:370dc3c67bf471e4303765121fcd93f36e2849023bcd5b0aeca4aa9e3fceb98b";
