/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:903098795e0fa290897152348c28f53bf19670ef3760202a5faee95eb6f129b9";
