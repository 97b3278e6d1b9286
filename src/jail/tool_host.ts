/**
 * The program of the jail: runs one authored tool, once, in a process that has no permission at all. What it says to the
 * runtime stands behind a secret that only this file knows, so nothing else that is written can be taken for it.
 */
import { z } from "zod";
import type { DoorAnswer, DoorRequest, JailJob, JailMessage } from "../../schemas/authored.ts";
import type { Json, JsonObject } from "../../schemas/json.ts";
import { hideGlobals, revokeAll } from "./bare_globals.ts";
import { frameStart } from "./frame_start.ts";

/** What a tool file exports: made by `defineTool`, the only name that the jail adds. */
type Make = (given: { readonly z: typeof z }) => unknown;

interface Sketch {
  readonly input?: unknown;
  readonly execute?: (input: unknown, ctx: unknown) => unknown;
  readonly [key: string]: unknown;
}

// Taken before any tool is loaded: it may change what stands in the global object, and harms its own call alone.
const { stringify, parse } = JSON;
const { stdin, exit } = Deno;
const write = Deno.stdout.writeSync.bind(Deno.stdout);
const encode = TextEncoder.prototype.encode.bind(new TextEncoder());
const [Answer, NoBody] = [Response, new Set([101, 204, 205, 304])];

const made = new WeakSet<object>();
const waiting = new Map<number, (answer: DoorAnswer) => void>();
/** What every frame begins with. The secret is in no other value that a tool could come upon. */
let start = encode("");
let doors = 0;

/** Serves one job, as the process that it was started in. */
export async function serveJail(): Promise<void> {
  revokeAll();
  const lines = readLines();
  // The line break ends whatever a tool may have written by itself.
  start = encode(`\n${frameStart}${(await lines.next()).value ?? ""} `);
  hideGlobals({ defineTool });
  const order = (await lines.next()).value;
  if (order === undefined) return exit(0);
  send({ type: "begun" });
  void listen(lines);
  const job: JailJob = parse(order);
  try {
    const sketch = await load(job.code);
    if (job.type === "describe") send({ type: "described", definition: describe(sketch) });
    else send({ type: "result", value: await execute(sketch, job) });
  } catch (error) {
    const isArguments = error instanceof z.ZodError && job.type === "execute";
    const text = isArguments ? z.prettifyError(error).replace(/\s+/g, " ") : wordsOf(error);
    send({ type: "failed", message: text.slice(0, 1_000), isArguments });
  }
}

function defineTool(make: Make): object {
  if (typeof make !== "function") {
    throw new TypeError("defineTool takes a function: defineTool(({ z }) => ({ ... }))");
  }
  const tool = Object.freeze({ make });
  made.add(tool);
  return tool;
}

async function load(code: string): Promise<Sketch> {
  const found = (await import(`data:text/javascript;charset=utf-8,${encodeURIComponent(code)}`)).default;
  if (!made.has(found)) {
    throw new TypeError("the file has no export default defineTool(({ z }) => ({ ... }))");
  }
  const sketch = (found as { readonly make: Make }).make({ z });
  if (typeof sketch === "object" && sketch !== null && typeof (sketch as Sketch).execute === "function") {
    return sketch as Sketch;
  }
  throw new TypeError("the tool has no function execute(input, ctx)");
}

function describe({ execute: _, input, ...rest }: Sketch): JsonObject {
  const schema = isZod(input) ? z.toJSONSchema(input, { io: "input" }) : input;
  const { $schema: _schema, ...told } = (schema ?? {}) as Record<string, unknown>;
  return parse(stringify({ ...rest, input: told }));
}

async function execute(sketch: Sketch, { input, key }: Extract<JailJob, { type: "execute" }>): Promise<Json> {
  const given = isZod(sketch.input) ? sketch.input.parse(input) : input;
  const value = await sketch.execute?.(given, contextOf(key));
  return parse(stringify(value) ?? "null");
}

function isZod(value: unknown): value is z.ZodType {
  return value instanceof z.ZodType;
}

/** All that a tool gets besides its input: the doors, each of which the runtime opens or does not. */
function contextOf(idempotencyKey: string): object {
  return Object.freeze({
    idempotencyKey,
    fetch: request,
    files: Object.freeze({
      read: (path: string) => use({ door: "files.read", path: String(path) }),
      list: (path = ".") => use({ door: "files.list", path: String(path) }),
      write: (path: string, text: string) =>
        use({ door: "files.write", path: String(path), text: String(text) }),
    }),
    capability: Object.freeze({
      require: (capability: string) => use({ door: "capability", capability: String(capability) }),
    }),
    secret: (name: string) => use({ door: "secret", name: String(name) }),
    progress: (text: string) => send({ type: "progress", text: String(text).slice(0, 2_000) }),
  });
}

async function request(url: string | URL, init: RequestInit = {}): Promise<Response> {
  const asked = new Request(url, { ...init, signal: null });
  const body = asked.body === null ? undefined : new Uint8Array(await asked.arrayBuffer()).toBase64();
  const { method } = asked;
  const headers = [...asked.headers] as [string, string][];
  const answer = await use({
    door: "fetch",
    url: String(url),
    method,
    headers,
    ...(body === undefined ? {} : { body }),
  });
  const { status, headers: told, body: bytes } = answer as {
    readonly status: number;
    readonly headers: [string, string][];
    readonly body: string;
  };
  return new Answer(NoBody.has(status) ? null : Uint8Array.fromBase64(bytes), { status, headers: told });
}

/** Asks for one use of a door; rejects with why it stays closed. */
async function use(wanted: DoorRequest): Promise<unknown> {
  const id = ++doors;
  const { promise, resolve } = Promise.withResolvers<DoorAnswer>();
  waiting.set(id, resolve);
  send({ type: "door", id, request: wanted });
  const answer = await promise;
  if (answer.ok) return answer.value;
  throw Object.assign(new Error(answer.message), { code: answer.code });
}

/** Hears the answers of doors. The runtime that is gone needs no result: the process ends with its input. */
async function listen(lines: AsyncGenerator<string, undefined>): Promise<void> {
  for await (const line of lines) {
    const { id, answer }: { readonly id: number; readonly answer: DoorAnswer } = parse(line);
    waiting.get(id)?.(answer);
    waiting.delete(id);
  }
  exit(0);
}

async function* readLines(): AsyncGenerator<string, undefined> {
  let rest = "";
  for await (const text of stdin.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  return undefined;
}

function send(message: JailMessage): void {
  // By itself and in one piece: it is shorter than what a pipe takes at once.
  write(start);
  const bytes = encode(`${stringify(message)}\n`);
  for (let sent = 0; sent < bytes.length;) sent += write(bytes.subarray(sent));
}

/** What went wrong, and in which line of the tool's own file. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const line = /data:text\/javascript[^\s]*?:(\d+):\d+\)?$/m.exec(error.stack ?? "")?.[1];
  const name = error.name === "Error" ? "" : `${error.name}: `;
  return `${name}${error.message.slice(0, 900)}${line === undefined ? "" : ` (line ${line})`}`;
}

if (import.meta.main) await serveJail();
