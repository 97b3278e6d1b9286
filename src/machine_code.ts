/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:60959c1664b0b3c8acac9fb6cd81854f63c4b0eaa336ca8d676f923efbbdabb6";
