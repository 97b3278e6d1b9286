/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:c324b9ac08d757222543e416f9e26b78d2a009f71d97e51698dc265f2a94c114";
