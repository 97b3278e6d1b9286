/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:ebe61d06da6edaf1fe9921ea5e7bdb9488bf79467e8df8e73a480a9646f8c7bc";
