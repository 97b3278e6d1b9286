/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:fae87ca08b5a57d73c8c9766b765ddfd51dce5b00e3f6e66f7520ad43a38e8b2";
