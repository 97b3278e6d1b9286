/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:8d77b2bd2ab7e68bd2993e826ca3a1a3376653961bb3dd98df00d774baae0977";
