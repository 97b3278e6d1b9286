/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:c1f422bbaa7ccbbfc5c0c6b72e5d825357390bc82045c83800ff477b44adf73b";
