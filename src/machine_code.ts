/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:8fa5eea507f0bbaa3d0f15412a81d764079f8e515c41bbd1bb3605c66d1aa148";
