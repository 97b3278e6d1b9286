/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:f1935269294ff3d6b0aa142796237b2bba73776ec2becb3d73cf47f044148bfb";
