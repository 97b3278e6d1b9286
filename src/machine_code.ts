/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:aff22315d46ce1ea89072e91c6dc44a5d56a000d53bbc10822a4bc63c9bdbadb";
