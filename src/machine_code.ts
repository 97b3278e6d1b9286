/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:cdef303daf7192b8ce72931a7795fd53627ad0628a905e22cc5021c8371b37c9";
