/** A real `troupe serve` in a process and a folder of its own, as the bench asks it. */

/** The server, and how it is asked. */
export interface ApiServer {
  readonly url: string;
  readonly port: number;
  readonly token: string;
  /** Memory that the process holds, in bytes. */
  residentBytes(): Promise<number>;
  /** Asks, and throws for anything but a success. */
  ask(path: string, init?: { readonly body?: unknown; readonly key?: string }): Promise<unknown>;
  end(): Promise<void>;
}

const main = new URL("../../main.ts", import.meta.url).pathname;
/** The same answer to every prompt of the longest round; each session reads them all, which is no cost of the API. */
const script = "answers:\n" + "  - text: Done\n".repeat(250);

/** Makes a folder with an agent that answers at once. */
export async function writeBenchAgent(): Promise<string> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "troupe-bench-api-" }));
  await Deno.mkdir(`${folder}/agent`);
  await Deno.writeTextFile(`${folder}/agent/agent.yaml`, "name: tester\nmodel: scripted/script.yaml\n");
  await Deno.writeTextFile(`${folder}/agent/script.yaml`, script);
  return folder;
}

/** Starts the server. */
export async function startApiServer(): Promise<ApiServer> {
  const folder = await writeBenchAgent();
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", main, "serve", "agent", "--rate", "0", "--store", `${folder}/store.db`],
    cwd: folder,
    env: { XDG_CONFIG_HOME: `${folder}/config`, NO_COLOR: "1" },
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const lines = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let said = "";
  while (!/:\d+\n/.test(said)) {
    const { value, done } = await lines.read();
    if (done) throw new Error("The server did not begin");
    said += value;
  }
  const url = said.trim();
  const token = (await Deno.readTextFile(`${folder}/store.db.token`)).trim();
  return {
    url,
    token,
    port: Number(new URL(url).port),
    residentBytes: async () => {
      const [, kib = "NaN"] = /VmRSS:\s+(\d+) kB/.exec(
        await Deno.readTextFile(`/proc/${process.pid}/status`),
      ) ?? [];
      return Number(kib) * 1_024;
    },
    ask: async (path, { body, key } = {}) => {
      const answer = await fetch(`${url}/v1${path}`, {
        method: body === undefined ? "GET" : "POST",
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...(key === undefined ? {} : { "idempotency-key": key }),
        },
        body: body === undefined ? null : JSON.stringify(body),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
      return JSON.parse(text);
    },
    end: async () => {
      process.kill("SIGTERM");
      await lines.cancel();
      await process.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** Begins an agent. */
export async function spawnOn({ ask }: Pick<ApiServer, "ask">, key: string): Promise<string> {
  return (await ask("/agents", { body: { agent: "tester" }, key }) as { readonly address: string }).address;
}
