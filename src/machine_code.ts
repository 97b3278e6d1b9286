/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:732ab6adf7693b6bdd546cc2bf879d59ee5f3065c4dc1f14bb8c804da266f176";
