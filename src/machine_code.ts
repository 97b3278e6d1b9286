/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:2efbafb3377fa0291ce539f8ff266dfc1416b07fada5cea3ee9706edc3ebd433";
