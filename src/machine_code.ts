/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:e7c0e2b401e94cb9d1eec9b148d040b0c10aa3b313f0becca95d130bb7bc466e";
