/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:d2059c99f0682a531e69eb3cd9c48d1b91bfe44740752bb6fe95b6dc182731d7";
