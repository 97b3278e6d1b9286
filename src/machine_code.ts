/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:1ed87f4031a2e5f0eb8671b538b09baef6a25d954887571d2c495b4484be7f11";
