/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:5f401519fb61d6d47ff285d961bb5754b1dfeff33b33acf2d7cd66693e8b47ff";
