/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:f71bd003543f393ff1b36eb93e00acad72b29fe64ebb046286ef7833a5a68cd9";
