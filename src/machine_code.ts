/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:f164797f6cf7e55eb3176b6d2170d3d0edb78e5f05b4d71356cd3920e96ea170";
