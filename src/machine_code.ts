/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:72521c40ae69a9dd4eabb85f2ecae59f71172124eac45147b3be5fc930812608";
