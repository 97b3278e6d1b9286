/** `troupe version`. */
import { machineCode } from "../machine_code.ts";
import { version } from "../version.ts";
import { defineCommand, jsonOption } from "./cli.ts";
import { exitCodes } from "./exit.ts";

/** Prints the version of troupe, of the machines' code, and of Deno. */
export const command = defineCommand({
  args: [],
  about: ["Prints the version of troupe, the hash of the code of its machines, and the version of Deno."],
  options: { json: jsonOption },
  examples: ["troupe --version", "troupe version --json"],
  run: ({ cli, options }) => {
    const { out } = cli.terminal;
    const deno = Deno.version.deno;
    if (options.json) out.line(JSON.stringify({ troupe: version, code: machineCode, deno }));
    else out.line(`troupe ${version} (machines ${machineCode.slice(7, 19)}, deno ${deno})`);
    return Promise.resolve(exitCodes.ok);
  },
});
