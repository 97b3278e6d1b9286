/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:2abf2c2b30d8075daec45d45b66e3e00a3faead25d2949eedb13bf2610a18b79";
