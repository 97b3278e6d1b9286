/** The version of this release; a test keeps it equal to the one in `deno.json`. */
export const version = "0.1.0";
