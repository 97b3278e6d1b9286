/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:4c3de0a68eed4fb15f32798e0a6b8a1018e526ca899b5bbb5da2d89bbe9cf100";
