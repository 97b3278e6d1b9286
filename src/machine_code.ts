/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:e76dc954f0b6dc369efde39f1b4b002d9bde406e9fa19a56bbe519297584e940";
