/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:d56957572784a55e323a76d430c43bc2cccf7f0934f48e28406f9804d62ee21b";
