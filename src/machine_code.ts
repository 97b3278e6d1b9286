/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:ec1c3aa583fe0db6dec1b8a921b16369345a973c1ea9de4f071424b20d724907";
