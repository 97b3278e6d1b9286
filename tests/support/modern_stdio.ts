/**
 * An MCP server over stdio of one era or the other, without dependencies, for tests. Every message that it gets goes to
 * the file that its second argument names, one JSON line each. Its tool `echo` gives its arguments back as text, `wait`
 * answers nothing; MODE, what it does:
 *
 *   modern       refuses `initialize` with the error of its third argument; answers in the modern era
 *   legacy       shakes hands, and refuses what it does not know
 *   mute         refuses `initialize` with the error of its third argument, and says nothing else
 *   dies         shakes hands, and exits with code 5 at any other first message
 *   refuses      refuses both beginnings, `initialize` with the error of its third argument
 */

const [mode = "modern", ledger = "", code = "-32022"] = Deno.args;

interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly name?: string; readonly arguments?: object };
}

let isLegacy = false;

function say(message: object): void {
  console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
}

function refuse({ id }: Message, code: number): void {
  const data = code === -32_022 ? { data: { supported: ["2026-07-28"] } } : {};
  say({ id, error: { code, message: "no", ...data } });
}

function begin(message: Message): void {
  if (["modern", "refuses", "mute"].includes(mode)) return refuse(message, Number(code));
  isLegacy = true;
  const serverInfo = { name: mode, version: "1" };
  say({ id: message.id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo } });
}

function discover(message: Message): void {
  if (mode === "mute") return;
  if (mode !== "modern") return refuse(message, -32_601);
  say({
    id: message.id,
    result: { resultType: "complete", supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
  });
}

function answer(message: Message): void {
  const { id, method, params } = message;
  if (id === undefined) return;
  if (mode === "dies" && !isLegacy && method !== "initialize") Deno.exit(5);
  if (method === "initialize") return begin(message);
  if (method === "server/discover") return discover(message);
  if (method === "tools/list") {
    return say({ id, result: { tools: [{ name: "echo", inputSchema: { type: "object" } }] } });
  }
  if (method !== "tools/call") return refuse(message, -32_601);
  if (params?.name === "wait") return;
  const content = [{ type: "text", text: JSON.stringify(params?.arguments ?? {}) }];
  say({ id, result: { resultType: "complete", content } });
}

const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream());
let rest = "";
for await (const chunk of lines) {
  const whole = (rest + chunk).split("\n");
  rest = whole.pop() ?? "";
  for (const line of whole) {
    Deno.writeTextFileSync(ledger, `${line}\n`, { append: true });
    answer(JSON.parse(line) as Message);
  }
}
