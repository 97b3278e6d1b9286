/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:e8b9061fb56924047bdd14e1fde80dca5a9e112597bb4af0ae73faf648d7cc72";
