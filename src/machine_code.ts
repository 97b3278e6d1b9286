/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:1fb8a565e7a6405f8e25a1420835bb02c03a1e97292032665fa2df3a307fe951";
