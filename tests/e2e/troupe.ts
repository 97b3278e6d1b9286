/** Runs the real command in real processes, in a folder of its own; every process that was started is ended by its pid. */
import assert from "node:assert/strict";

const main = new URL("../../main.ts", import.meta.url).pathname;
/** Longest wait for anything, in milliseconds: only a broken build comes near it. */
const patienceMs = 30_000;

/** How a process ended. */
export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A process that runs. */
export interface Running {
  readonly pid: number;
  readonly ended: Promise<Ended>;
  /** Waits until both outputs together contain `text`, and gives them. */
  until(text: string): Promise<string>;
  signal(name: Deno.Signal): void;
}

/** A folder, an environment, and the command in it. */
export class Stage {
  readonly folder: string;
  readonly #env: Record<string, string>;
  readonly #running = new Set<Process>();

  constructor(folder: string) {
    this.folder = folder;
    this.#env = {
      TROUPE_STORE: `${folder}/store.db`,
      XDG_CONFIG_HOME: `${folder}/config`,
      XDG_DATA_HOME: `${folder}/data`,
      NO_COLOR: "",
      TROUPE_CONFIG: "",
      TROUPE_TRUST: "",
      TROUPE_DEBUG: "",
    };
  }

  /** Writes files below the folder. */
  async write(files: { readonly [path: string]: string }): Promise<void> {
    for (const [path, text] of Object.entries(files)) {
      const cut = path.lastIndexOf("/");
      if (cut > 0) await Deno.mkdir(`${this.folder}/${path.slice(0, cut)}`, { recursive: true });
      await Deno.writeTextFile(`${this.folder}/${path}`, text);
    }
  }

  path(name: string): string {
    return `${this.folder}/${name}`;
  }

  /** Runs the command to its end. */
  run(...args: readonly string[]): Promise<Ended> {
    return this.start(...args).ended;
  }

  /** Runs the command, which must end well, and gives its output. */
  async output(...args: readonly string[]): Promise<string> {
    const { code, out, err } = await this.run(...args);
    assert.equal(code, 0, `troupe ${args.join(" ")}\n${out}\n${err}`);
    return out;
  }

  /** Every process that is started from now on says all that it logs. */
  debug(): void {
    this.#env["TROUPE_DEBUG"] = "1";
  }

  /** Every process that is started from now on finds this in its environment. */
  give(name: string, value: string): void {
    this.#env[name] = value;
  }

  /** Starts the command. */
  start(...args: readonly string[]): Running {
    return this.startDeno("run", "-A", "--quiet", main, ...args);
  }

  /** Starts Deno with other arguments. */
  startDeno(...args: readonly string[]): Running {
    const process = new Process(
      new Deno.Command(Deno.execPath(), {
        args: [...args],
        cwd: this.folder,
        env: this.#env,
        stdin: "null",
        stdout: "piped",
        stderr: "piped",
      }).spawn(),
    );
    this.#running.add(process);
    process.ended.then(() => this.#running.delete(process), () => {});
    return process;
  }

  async end(): Promise<void> {
    await Promise.all([...this.#running].map((process) => process.kill()));
    await Deno.remove(this.folder, { recursive: true });
  }
}

class Process implements Running {
  readonly pid: number;
  readonly ended: Promise<Ended>;
  readonly #child: Deno.ChildProcess;
  readonly #text = { out: "", err: "" };
  #news = Promise.withResolvers<void>();
  #isOver = false;

  constructor(child: Deno.ChildProcess) {
    this.#child = child;
    this.pid = child.pid;
    this.ended = this.#end();
  }

  async until(text: string): Promise<string> {
    await within(`"${text}" from process ${this.pid}`, async () => {
      while (!(this.#text.out + this.#text.err).includes(text)) {
        if (this.#isOver) assert.fail(`ended without "${text}":\n${this.#text.out}\n${this.#text.err}`);
        await this.#news.promise;
      }
    });
    return this.#text.out + this.#text.err;
  }

  signal(name: Deno.Signal): void {
    this.#child.kill(name);
  }

  async kill(): Promise<void> {
    if (this.#isOver) return;
    this.#child.kill("SIGKILL");
    await this.ended;
  }

  async #end(): Promise<Ended> {
    const reading = [this.#read("out", this.#child.stdout), this.#read("err", this.#child.stderr)];
    const ended = Promise.all([this.#child.status, ...reading]);
    let status: Deno.CommandStatus | undefined;
    try {
      [status] = await within(`the end of process ${this.pid}`, () => ended);
    } catch (error) {
      this.#child.kill("SIGKILL");
      await ended;
      throw error;
    } finally {
      this.#isOver = true;
      this.#tell();
    }
    return { code: status.code, ...this.#text };
  }

  async #read(name: "out" | "err", stream: ReadableStream<Uint8Array>): Promise<void> {
    for await (const text of stream.pipeThrough(new TextDecoderStream() as never) as ReadableStream<string>) {
      this.#text[name] += text;
      this.#tell();
    }
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }
}

/** Waits for something, within a bound. */
async function within<T>(what: string, work: () => Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Waited ${patienceMs} ms for ${what}`)), patienceMs);
  });
  try {
    return await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Plays a test in a folder of its own. */
export async function onStage(play: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = new Stage(await Deno.realPath(await Deno.makeTempDir({ prefix: "troupe-e2e-" })));
  try {
    await play(stage);
  } finally {
    await stage.end();
  }
}

/** An agent whose model is a script. Its workspace holds `a.txt` and `b.txt`. */
export async function writeAgent(stage: Stage, script: string): Promise<void> {
  await stage.write({
    "agent/agent.yaml":
      "name: tester\nmodel: scripted/script.yaml\ntools: [read_file, list_files, search_files]\ncapabilities: [fs.read]\n",
    "agent/script.yaml": script,
    "ws/a.txt": "alpha\n",
    "ws/b.txt": "beta\n",
  });
}

/** One call of `read_file`, then an answer. */
export const readScript = `answers:
  - text: reading
    calls: [{ tool: read_file, arguments: { path: a.txt } }]
  - text: finished
`;

/** Host configuration under which every `read_file` needs a person. */
export const askPolicy = { "config/troupe/troupe.yaml": "policy: { tools: { read_file: prompt } }\n" };

/** JSON lines, parsed. */
export function linesOf(text: string): { readonly [key: string]: unknown }[] {
  return text.trimEnd().split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

/** Asserts a refusal: exit code, one line on stderr that ends with the code in brackets, no stack. */
export function assertRefused(
  ended: Ended,
  exit: number,
  code: string,
  ...parts: readonly (string | RegExp)[]
): void {
  const told = `${ended.out}\n${ended.err}`;
  assert.equal(ended.code, exit, told);
  const line = ended.err.trimEnd().split("\n").at(-1) ?? "";
  assert.match(line, new RegExp(`^troupe: .*\\[${code}\\]$`), told);
  assert.doesNotMatch(ended.err, /^\s+at /m);
  for (const part of parts) {
    assert.match(line, part instanceof RegExp ? part : new RegExp(RegExp.escape(part)));
  }
}

/** Every file below a folder that holds one of these texts. */
export async function filesWith(folder: string, texts: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) found.push(...await filesWith(path, texts));
    else {
      const content = new TextDecoder("latin1").decode(await Deno.readFile(path));
      if (texts.some((text) => content.includes(text))) found.push(path);
    }
  }
  return found;
}
