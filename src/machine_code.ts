/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:c35587dd4da2bc097ac5c6231a0017b87b7838cc3ace6e56cacc0081a90924bf";
