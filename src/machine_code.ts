/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:37f99cd475252fc02cdc85dcdd2eacf3a2af9001511a29ccda11a70fe9259d77";
