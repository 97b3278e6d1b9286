/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:c190884d595deb131f24ac7be56ef5d73b746c46ee50a8e42168c41fbda1b771";
