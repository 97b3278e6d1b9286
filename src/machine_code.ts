/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:92d4188a9eb925ee2991704fdc6268b2236cc0de364871bbbbe393ef5a1f8368";
