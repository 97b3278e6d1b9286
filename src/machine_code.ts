/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:cbee74630d14c44cdc10740105e92683e583dd07fd678e9319af0387fe5e609b";
