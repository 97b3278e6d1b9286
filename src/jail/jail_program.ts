/** How a jail is started: this very program once more, without any permission, and with bounds that the system keeps. */
import { limits } from "../../schemas/limits.ts";
import type { OwnProgram } from "../mcp/connections.ts";
import { jailWord } from "./jail_word.ts";

const v8Flags = [
  // What a tool makes of text is text: no code is run that was not looked at.
  "--disallow-code-generation-from-strings",
  `--max-old-space-size=${limits.jailHeapMegabytesMax}`,
].join(",");

/** Bounds of the system: data, cores, files, processor. What a system does not know is left out. */
const bounded = [
  `ulimit -d ${limits.jailDataKibibytesMax}`,
  "ulimit -c 0",
  "ulimit -n 64",
  `ulimit -t ${Math.ceil(limits.jailCpuMsMax / 1_000) + 5}`,
].map((bound) => `${bound} 2>/dev/null`).join("; ") + '; exec "$@"';

/** The program of a jail. `self` says where this program finds its packages. */
export function jailProgram({ command, env }: OwnProgram): OwnProgram {
  const program = Deno.build.standalone ? [command, jailWord] : [command, ...fromSource()];
  const variables = { NO_COLOR: "1", ...env, DENO_V8_FLAGS: v8Flags };
  if (Deno.build.os === "windows") {
    return { command, args: program.slice(1), env: variables };
  }
  return { command: "/bin/sh", args: ["-c", bounded, "jail", ...program], env: variables };
}

function fromSource(): readonly string[] {
  const denied = ["read", "write", "net", "env", "run", "sys", "ffi", "import"].map((name) =>
    `--deny-${name}`
  );
  const config = new URL("../../deno.json", import.meta.url).pathname;
  const host = new URL("./tool_host.ts", import.meta.url).pathname;
  const offline = ["--cached-only", "--no-remote"];
  return ["run", "--quiet", "--no-prompt", ...denied, ...offline, "--config", config, host];
}
