/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:bbd522693cecd6cf24b26071565a69adcda6fe3988a483e5e272ebf979666184";
