/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:4f2afa172f50a06e8f571bfb7c5fda5e8f8f3d6b8ec121f806e9f18015ac8b60";
