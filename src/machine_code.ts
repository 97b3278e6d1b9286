/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:1282fe313b9a0f0e8b769f5fae9007079edac58eae50e56276743f9b89306af7";
