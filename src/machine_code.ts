/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:474b9a63970de187cd37588de77dc34b6302fe33179287713d07dde52629710d";
