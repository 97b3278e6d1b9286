/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:8cba61b229a55dfe1f459716f0fd3cd96cfc3ee971bea4931883d3fd670f8041";
