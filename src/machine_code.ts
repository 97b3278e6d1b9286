/** Hash of the code that machines are made of (K21). Written by `deno task code`; a test keeps it true. */
export const machineCode = "sha256:d3ddb997bd965863d94300cec6591474c6c013d6ff9bf70e33e558c0c20a213e";
