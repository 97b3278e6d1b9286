/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:0cc9044f74fe1aa24601ce2f5819769fa453ef8d45bdb39f0cf5497a9d7f166f";
