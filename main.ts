/** The `troupe` command: wires arguments, environment, signals and the exit code to the command line, and nothing else. */
import type { Cli, Interrupt } from "./src/cli/cli.ts";
import { runCli, tellError } from "./src/cli/command.ts";
import { jsonLine } from "./src/cli/json_line.ts";
import { createTerminal } from "./src/cli/terminal.ts";
import { createSystemSeams } from "./src/system_seams.ts";

function createCli(): Cli {
  const env = (name: string) => Deno.env.get(name) || undefined;
  const terminal = createTerminal({
    stdout: Deno.stdout,
    stderr: Deno.stderr,
    stdin: Deno.stdin,
    colours: !Deno.noColor && env("TERM") !== "dumb",
    columns: () => {
      try {
        return Deno.consoleSize().columns;
      } catch {
        return undefined; // Not on a terminal.
      }
    },
  });
  const isDebugging = env("TROUPE_DEBUG") === "1";
  const seams = createSystemSeams({
    log: ({ level, event, detail }) => {
      if (level !== "warning" && level !== "error" && !isDebugging) return;
      terminal.err.line(`troupe: ${level}: ${event}${detail === undefined ? "" : ` ${jsonLine(detail)}`}`);
    },
  });
  return { terminal, seams, env, cwd: Deno.cwd(), self: ownProgram(env), onInterrupt };
}

/** A binary is started as it is; the source by the Deno that runs it, with the same packages. */
function ownProgram(env: Cli["env"]): Cli["self"] {
  const command = Deno.execPath();
  if (Deno.build.standalone) return { command, args: [], env: {} };
  const folder = import.meta.dirname ?? Deno.cwd();
  // Without these it would look for the packages in another place, and fetch them all again.
  const names = ["DENO_DIR", "XDG_CACHE_HOME"] as const;
  const given = names.map((name) => [name, env(name) ?? ""] as const);
  // Its home is another one, where there is no cache.
  const ofCache = given.some(([, value]) => value !== "")
    ? given
    : [["DENO_DIR", defaultCache(env)] as const];
  return {
    command,
    args: ["run", "--quiet", "--allow-all", "--config", `${folder}/deno.json`, `${folder}/main.ts`],
    env: Object.fromEntries(ofCache.filter(([, value]) => value !== "")),
  };
}

/** Where Deno keeps packages if nothing else is said; empty if that cannot be told. */
function defaultCache(env: Cli["env"]): string {
  const [name, below] = {
    darwin: ["HOME", "Library/Caches/deno"] as const,
    windows: ["LOCALAPPDATA", "deno"] as const,
    other: ["HOME", ".cache/deno"] as const,
  }[Deno.build.os === "darwin" || Deno.build.os === "windows" ? Deno.build.os : "other"];
  const base = env(name) ?? "";
  return base === "" ? "" : `${base}/${below}`;
}

function onInterrupt(listener: (kind: Interrupt) => void): () => void {
  const interrupt = () => listener("interrupt");
  const terminate = () => listener("terminate");
  Deno.addSignalListener("SIGINT", interrupt);
  // Windows has no signal of this name.
  if (Deno.build.os !== "windows") Deno.addSignalListener("SIGTERM", terminate);
  return () => {
    Deno.removeSignalListener("SIGINT", interrupt);
    if (Deno.build.os !== "windows") Deno.removeSignalListener("SIGTERM", terminate);
  };
}

if (import.meta.main) {
  const cli = createCli();
  // A fault that nobody waited for ends like any other: as one line, with an exit code.
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    Deno.exit(tellError(event.reason, cli));
  });
  Deno.exit(await runCli(Deno.args, cli));
}
