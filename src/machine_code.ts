/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:a46ef86558a4229d73ee3e757b3110c86586ff3726fcb35988d7fc561c67c72d";
