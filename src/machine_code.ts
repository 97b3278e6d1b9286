/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:1acaac4221d84da98aa75ade83124b02f133cea24f0c4b98f18a3b41e0966db2";
