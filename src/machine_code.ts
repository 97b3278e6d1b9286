/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:f2f5478369144775b91de1ec2e35c3a24142cfc5d72e95382d6b6b88aecb66c5";
