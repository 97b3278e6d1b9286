/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:c0caa53ef5d48ba3a2038b9be5ce1e095f637032622967e34a70f52e57c668df";
