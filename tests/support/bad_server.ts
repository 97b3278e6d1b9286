/**
 * An MCP server over stdio that misbehaves as told: a script without dependencies, for tests.
 *
 *   deno run -A tests/support/bad_server.ts [MODE] [OPTIONS]
 *
 * Every mode but those that never get so far shakes hands, answers `ping`, and has these tools, which work in all
 * modes unless the mode says otherwise:
 *
 *   echo         gives its arguments back as text
 *   slow         answers once the file `{ "file": PATH }` exists; without a file never
 *   environment  gives its environment as text
 *   pid          gives its process id as text; it is not listed
 *
 * MODE, what it does:
 *
 *   good                   nothing bad; the default
 *   exits-before-initialize  writes "boom: missing API key" to standard error and exits with code 3
 *   exits-after-initialize   shakes hands, then exits with code 0
 *   reads-late             shakes hands, and reads on once the file `--gate FILE` exists
 *   never-answers          reads, and says nothing at all
 *   noise                  banners, blank lines, NUL and JSON that is no message around every message
 *   chatty                 `--lines N` lines that are no messages before each answer to a call
 *   answers-another        answers request 4711, which nobody made, before each answer to a call
 *   big                    `echo` answers with 9,000,000 characters (`--bytes N` for another number)
 *   too-big                `echo` answers with 17 MiB
 *   stderr-flood           5 MB on standard error before it reads anything
 *   dies-in-call           exits with code 7 when a tool is called, after the ledger was written
 *   answers-twice          answers every call, and once more with other words in the same breath
 *   says-and-dies          answers the call, and exits in the same breath
 *   hangs-in-call          never answers a call
 *   answers-cancel         answers a call once it is told that the call is canceled
 *   refuses-cancel         the same, but with an error
 *   ignores-eof-and-term   goes on at the end of its input and at TERM: only KILL ends it
 *   one-bad-tool           lists a tool without a schema among the good ones
 *   no-tools-array         answers `tools/list` with something that has no tools
 *   no-tools               declares no tools and does not know `tools/list`
 *   same-cursor            every page has the same next cursor, and the same tools
 *   stuck-cursor           every page has the same next cursor, and a new tool
 *   many-pages             5 pages (`--pages N` for another number) with one tool each, `page-1` and so on
 *   endless-pages          every page has a new tool and a new cursor
 *   huge-list              lists a tool whose description has 5 MiB
 *   never-lists            does not answer `tools/list`
 *   progress               3 reports of progress (`--reports N`) before each answer; `--silent` for no answer
 *   tool-error             every call gives a result that is an error, "the disk is full"
 *   rpc-error              every call is refused with error -32602, "no such tool"
 *   crlf-and-single-bytes  writes every message byte by byte, with CRLF at its end and U+2028 in its text
 *   null-fields            writes null for every field that is absent, as some libraries do
 *   reversed               answers calls in reverse, once `--batch N` of them (default 32) are there
 *   wrong-version          agrees on a revision that does not exist
 *   asks-back              asks the client for samples and roots before it answers a call; tells what it got
 *
 * OPTIONS: `--ledger FILE` appends one JSON line for every `tools/call`, `{ tool, arguments, key }`, before anything
 * else is done; `--methods FILE` appends the method of every message it gets, one a line; `--name NAME` is another name
 * for the tool `echo`.
 */

const [mode = "good", ...rest] = Deno.args;

function option(name: string): string | undefined {
  const at = rest.indexOf(`--${name}`);
  return at < 0 ? undefined : rest[at + 1];
}

const ledger = option("ledger");
const echo = option("name") ?? "echo";
const encoder = new TextEncoder();

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly cursor?: string;
    readonly arguments?: { readonly file?: string };
    readonly requestId?: number | string;
    readonly _meta?: { readonly progressToken?: unknown; readonly [key: string]: unknown };
  };
  readonly result?: unknown;
  readonly error?: { readonly code: number };
}

function writeAll(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
}

function send(message: object): void {
  const text = JSON.stringify({ jsonrpc: "2.0", ...message });
  switch (mode) {
    case "noise":
      return writeAll(
        encoder.encode(
          `Listening on stdio...\n\n\u0000\u0000\n{"level":"info"}\n[1,2]\n"text"\nnull\n{"jsonrpc":"1.0","id":0,"result":{}}\n` +
            `{"jsonrpc":"2.0","id":4711,"result":{}}\n{"jsonrpc":"2.0"}\n${text}\n{"jsonrpc": \n`,
        ),
      );
    case "crlf-and-single-bytes":
      for (const byte of encoder.encode(`${text}\r\n`)) writeAll(Uint8Array.of(byte));
      return;
    default:
      return writeAll(encoder.encode(`${text}\n`));
  }
}

function answer(id: Message["id"], result: object): void {
  const nulls = { _meta: null, nextCursor: null, isError: null };
  if (mode === "null-fields") {
    send({ id: String(id), result: { ...result, ...nulls }, error: null, method: null });
  } else send({ id, result });
}

function text(words: string): object {
  return { content: [{ type: "text", text: words }] };
}

const schema = { type: "object", properties: {}, additionalProperties: true };
const tools: object[] = [
  { name: echo, description: "Gives its arguments back as text", inputSchema: schema },
  { name: "slow", description: "Answers once a file exists", inputSchema: schema },
  { name: "environment", description: "Gives its environment as text", inputSchema: schema },
];

let listed = 0;

function list(id: Message["id"], cursor: string | undefined): void {
  const page = Number(cursor ?? 1);
  const tool = { name: `page-${page}`, inputSchema: schema };
  const last = Number(option("pages") ?? 5);
  switch (mode) {
    case "never-lists":
      return;
    case "no-tools":
      return send({ id, error: { code: -32601, message: "Method not found" } });
    case "no-tools-array":
      return answer(id, { tool: tools });
    case "one-bad-tool":
      return answer(id, { tools: [tools[0], { name: "bad" }, null, ...tools.slice(1)] });
    case "same-cursor":
      return answer(id, { tools, nextCursor: "again" });
    case "stuck-cursor":
      listed += 1;
      return answer(id, { tools: [{ ...tool, name: `page-${listed}` }], nextCursor: "again" });
    case "many-pages":
      return answer(id, { tools: [tool], ...(page < last ? { nextCursor: String(page + 1) } : {}) });
    case "endless-pages":
      return answer(id, { tools: [tool], nextCursor: String(page + 1) });
    case "huge-list":
      return answer(id, { tools: [{ ...tool, description: "x".repeat(5 * 1_048_576) }] });
    default:
      return answer(id, { tools });
  }
}

/** Calls that wait: for a file, a cancellation or company. */
const waiting: Message[] = [];

function answerCall({ id, params }: Message): void {
  if (mode === "chatty") {
    writeAll(encoder.encode("[info] still here\n".repeat(Number(option("lines") ?? 1))));
  }
  if (mode === "answers-another") answer(4711, text("the answer to another"));
  if (params?.name === "pid") answer(id, text(String(Deno.pid)));
  else if (params?.name === "environment") answer(id, text(JSON.stringify(Deno.env.toObject())));
  else if (mode === "crlf-and-single-bytes") {
    answer(id, text(`one\u2028two\u0000${JSON.stringify(params?.arguments)}`));
  } else if (mode === "big") answer(id, text("x".repeat(Number(option("bytes") ?? 9_000_000))));
  else if (mode === "too-big") answer(id, text("x".repeat(17 * 1_048_576)));
  else if (mode === "tool-error") answer(id, { ...text("the disk is full"), isError: true });
  else if (mode === "rpc-error") send({ id, error: { code: -32602, message: "no such tool" } });
  else answer(id, text(JSON.stringify(params?.arguments)));
}

function report({ params }: Message): void {
  for (let progress = 1; progress <= Number(option("reports") ?? 3); progress++) {
    const told = { progressToken: params?._meta?.progressToken, progress, total: 3 };
    send({
      method: "notifications/progress",
      params: progress === 1 ? told : { ...told, message: `step ${progress}` },
    });
  }
}

function record({ params }: Message): void {
  if (ledger === undefined) return;
  const key = params?._meta?.["troupe/idempotency-key"];
  const line = JSON.stringify({ tool: params?.name, arguments: params?.arguments, key });
  Deno.writeTextFileSync(ledger, `${line}\n`, { append: true });
}

async function untilThere(file: string): Promise<void> {
  while (await Deno.stat(file).then(() => false, () => true)) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function answerSlowly(call: Message): Promise<void> {
  const file = call.params?.arguments?.file;
  if (file === undefined) return;
  await untilThere(file);
  answer(call.id, text("the file is there"));
}

function callTool(call: Message): void {
  record(call);
  switch (mode) {
    case "dies-in-call":
      return Deno.exit(7);
    case "says-and-dies":
      answerCall(call);
      return Deno.exit(0);
    case "hangs-in-call":
      return;
    case "answers-cancel":
    case "refuses-cancel":
      return void waiting.push(call);
    case "reversed":
      waiting.push(call);
      if (waiting.length < Number(option("batch") ?? 32)) return;
      for (const one of waiting.splice(0).reverse()) answerCall(one);
      return;
    case "progress":
      report(call);
      if (rest.includes("--silent")) return;
      break;
    case "asks-back":
      waiting.push(call);
      send({ id: "ask-1", method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } });
      send({ id: "ask-2", method: "roots/list" });
      return;
  }
  if (call.params?.name === "slow") void answerSlowly(call);
  else answerCall(call);
  if (mode === "answers-twice") answer(call.id, text("and once more"));
}

const asked: string[] = [];

/** What the client answered to what it was asked. */
function noteAnswer({ id, error }: Message): void {
  asked.push(`${id}: ${error?.code ?? "result"}`);
  if (asked.length === 2) answer(waiting.shift()?.id, text(asked.join(", ")));
}

const methods = option("methods");

function take(message: Message): void {
  if (methods !== undefined) Deno.writeTextFileSync(methods, `${message.method}\n`, { append: true });
  switch (message.method) {
    case undefined:
      return noteAnswer(message);
    case "initialize":
      return answer(message.id, {
        protocolVersion: mode === "wrong-version" ? "1999-01-01" : "2025-11-25",
        capabilities: mode === "no-tools" ? {} : { tools: {} },
        serverInfo: { name: "bad server", version: "1.2.3" },
      });
    case "notifications/initialized":
      if (mode === "exits-after-initialize") Deno.exit(0);
      return;
    case "ping":
      return answer(message.id, {});
    case "tools/list":
      return list(message.id, message.params?.cursor);
    case "tools/call":
      return callTool(message);
    case "notifications/cancelled": {
      const call = waiting.find((one) => one.id === message.params?.requestId);
      if (call === undefined) return;
      if (mode === "answers-cancel") answer(call.id, text(`late: ${JSON.stringify(message.params)}`));
      else send({ id: call.id, error: { code: -32800, message: "canceled" } });
    }
  }
}

if (mode === "exits-before-initialize") {
  await Deno.stderr.write(encoder.encode("starting\nboom: missing API key\n"));
  Deno.exit(3);
}
if (mode === "stderr-flood") {
  const line = encoder.encode(`${"e".repeat(999)}\n`);
  for (let lines = 0; lines < 5_000; lines++) Deno.stderr.writeSync(line);
}
if (mode === "ignores-eof-and-term") {
  Deno.addSignalListener("SIGTERM", () => {});
  setInterval(() => {}, 60_000);
}

let unread = "";
const decoder = new TextDecoder();
const room = new Uint8Array(65_536);
for (let size = await Deno.stdin.read(room); size !== null; size = await Deno.stdin.read(room)) {
  const lines = (unread + decoder.decode(room.subarray(0, size), { stream: true })).split("\n");
  unread = lines.pop() ?? "";
  if (mode === "never-answers") continue;
  for (const line of lines) take(JSON.parse(line));
  const gate = option("gate");
  if (gate !== undefined && lines.some((line) => line.includes("notifications/initialized"))) {
    await untilThere(gate);
  }
}
// The end of its input: `slow` does not keep it.
if (mode !== "ignores-eof-and-term") Deno.exit(0);
