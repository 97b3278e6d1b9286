/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:1ae6e3f8692155096cf6a7a017963af479c0a356e6ad2446884974cdeb15ca24";
