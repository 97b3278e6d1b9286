/** The `troupe` command: wires arguments, environment, signals and the exit code to the command line, and nothing else. */
import type { Cli, Interrupt } from "./src/cli/cli.ts";
import { runCli, tellError } from "./src/cli/command.ts";
import { jsonLine } from "./src/cli/json_line.ts";
import { createTerminal } from "./src/cli/terminal.ts";
import { ownProgram } from "./src/host/own_program.ts";
import { jailWord } from "./src/jail/jail_word.ts";
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

if (import.meta.main && Deno.args[0] === jailWord) {
  const { serveJail } = await import("./src/jail/tool_host.ts");
  await serveJail();
} else if (import.meta.main) {
  const cli = createCli();
  // A fault that nobody waited for ends like any other: as one line, with an exit code.
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    Deno.exit(tellError(event.reason, cli));
  });
  Deno.exit(await runCli(Deno.args, cli));
}
