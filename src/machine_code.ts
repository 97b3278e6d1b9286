/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:4762f5978b09623e4800540d99cffb84f73abae37a0cbf64134d07ba5164e4ff";
