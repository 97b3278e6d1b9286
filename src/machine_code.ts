/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:539c4cc6687828646cee28603c3f2a3d77c611eb40e28af6cddd52af5de9490d";
