/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:90c506c48bd43562672932c62f5023a641ef5358a3a9276c693d50d77a240dbe";
