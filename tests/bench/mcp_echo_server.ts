/** An MCP server for the bench: answers at once, one JSON line each, and is started alike by every side. No imports. */

interface Request {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: {
    readonly protocolVersion?: string;
    readonly name?: string;
    readonly arguments?: { readonly text?: string; readonly bytes?: number };
  };
}

/** Length of the id that a big text begins with. */
const idCharacters = 36;

const tools = [
  {
    name: "echo",
    description: "Gives its text back",
    inputSchema: {
      type: "object",
      properties: { text: { type: "string" } },
      required: ["text"],
      additionalProperties: false,
    },
  },
  {
    name: "big",
    description: "Gives a text of so many bytes, another one each time",
    inputSchema: {
      type: "object",
      properties: { bytes: { type: "integer", minimum: idCharacters } },
      required: ["bytes"],
      additionalProperties: false,
    },
  },
];

/** So many tools besides, with schemas of the usual size, if `--tools N` asks for them. */
const more = Array.from(
  { length: Number(Deno.args[Deno.args.indexOf("--tools") + 1] ?? 0) || 0 },
  (_, at) => ({
    name: `tool-${at}`,
    description:
      `The tool number ${at}, which says about itself as much as a tool does that was written with some care`,
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string", description: "What is looked for" },
        limit: { type: "integer", minimum: 1, maximum: 100, description: "How much is given at most" },
      },
      required: ["query"],
    },
    outputSchema: { type: "object", properties: { found: { type: "array", items: { type: "string" } } } },
  }),
);

let filler = "";

/** Begins with an id of its own: what keeps texts by their hash must keep each of them. */
function bigText(bytes: number): string {
  const rest = bytes - idCharacters;
  if (filler.length !== rest) filler = `\n${"x".repeat(79)}`.repeat(Math.ceil(rest / 80)).slice(0, rest);
  return crypto.randomUUID() + filler;
}

function textOf(params: Request["params"]): string {
  return params?.name === "big"
    ? bigText(params.arguments?.bytes ?? idCharacters)
    : params?.arguments?.text ?? "nothing was said";
}

function resultOf({ method, params }: Request): object {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params?.protocolVersion ?? "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "bench-echo", version: "1" },
      };
    case "tools/list":
      return { tools: [...tools, ...more] };
    case "tools/call":
      return { content: [{ type: "text", text: textOf(params) }] };
    default:
      return {};
  }
}

function answer(line: string): string {
  const request = JSON.parse(line) as Request;
  if (request.id === undefined) return "";
  return `${JSON.stringify({ jsonrpc: "2.0", id: request.id, result: resultOf(request) })}\n`;
}

function say(text: string): void {
  const bytes = new TextEncoder().encode(text);
  for (let written = 0; written < bytes.length;) {
    written += Deno.stdout.writeSync(bytes.subarray(written));
  }
}

/** The same by HTTP, on a port of loopback that it says. */
function listen(): void {
  const onListen = ({ port }: Deno.NetAddr) => say(`http://127.0.0.1:${port}/mcp\n`);
  Deno.serve({ hostname: "127.0.0.1", port: 0, onListen }, async (request) => {
    if (request.method !== "POST") {
      return new Response(null, { status: request.method === "GET" ? 405 : 204 });
    }
    const body = answer(await request.text());
    if (body === "") return new Response(null, { status: 202 });
    return new Response(body, { headers: { "content-type": "application/json", "mcp-session-id": "bench" } });
  });
}

async function main(): Promise<void> {
  if (Deno.args.includes("--http")) return listen();
  const isSilent = Deno.args.includes("--silent");
  let rest = "";
  for await (const chunk of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    const said = isSilent ? "" : lines.map(answer).join("");
    if (said !== "") say(said);
  }
}

if (import.meta.main) await main();
