/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:ec42b5fe3081dd81c05bf672ee0cf954f20bbce43ebd353d448777aac5c80353";
