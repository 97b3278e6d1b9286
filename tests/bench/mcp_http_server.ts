/** The server of the bench by HTTP, as a process that all sides reach. */
import { TextLineStream } from "./text_lines.ts";
import { program } from "./mcp_case.ts";

/** The server that listens. */
export interface HttpEcho {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts it, and waits until it says where it listens. */
export async function startHttpEcho(): Promise<HttpEcho> {
  const [run = "run", ...rest] = program.args;
  const command = new Deno.Command(program.command, {
    args: [run, "--allow-net=127.0.0.1", ...rest, "--http"],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  });
  const process = command.spawn();
  const lines = process.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
  const { value } = await lines.getReader().read();
  if (value === undefined) throw new Error("The server by HTTP ended before it listened");
  return {
    url: value,
    stop: async () => {
      process.kill("SIGTERM");
      await process.status;
    },
  };
}
