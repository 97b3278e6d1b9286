/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:4322ab9ebd9baad978ed0394d3dc347e2b599c1238a0a325af6361b4ea414363";
