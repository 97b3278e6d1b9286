/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:feab5d2f71e7be6caae5327b92375424f582fbd02579d8c6203fe176e9cb2234";
