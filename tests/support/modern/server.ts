/**
 * A server of revision 2026-07-28 by the SDK's own packages, which only this process has: `stdio` or `http`, then
 * `strict` to speak no other era. By HTTP it prints its port as its first line. What its tools were called with, and
 * with which headers, goes to the file that `--ledger` names, a line each.
 */

/** What is used of the packages. They are in `deno.json` beside this file only, so the product's graph has no types of them. */
interface Packages {
  readonly Server: new (info: object, options: object) => ModernServer;
  readonly createMcpHandler: (factory: (context: Context) => ModernServer, options: object) => Handler;
}

interface StdioPackage {
  readonly serveStdio: (factory: (context: Context) => ModernServer, options: object) => unknown;
}

interface ModernServer {
  setRequestHandler(
    method: string,
    handler: (request: Asked, extra: Extra) => Promise<object> | object,
  ): void;
  sendToolListChanged(): Promise<void>;
  sendResourceUpdated(params: { readonly uri: string }): Promise<void>;
}

interface Handler {
  readonly fetch: (request: Request) => Promise<Response>;
  readonly notify: { toolsChanged(): void; resourceUpdated(uri: string): void };
}

interface Context {
  readonly era: string;
  readonly requestInfo?: Request;
}

interface Asked {
  readonly params?: { readonly name?: string; readonly arguments?: { readonly [key: string]: unknown } };
}

interface Extra {
  readonly mcpReq: {
    readonly signal: AbortSignal;
    readonly _meta?: { readonly [key: string]: unknown };
    readonly envelope?: { readonly [key: string]: unknown };
    notify(notification: object): Promise<void>;
  };
}

const packageName = "@modelcontextprotocol/server";
const { Server, createMcpHandler } = await import(packageName) as Packages;
const [way, ...words] = Deno.args;
const legacy = words.includes("strict") ? "reject" : undefined;
const ledger = words.includes("--ledger") ? words[words.indexOf("--ledger") + 1] : undefined;
const state: {
  hasMore: boolean;
  lists: number;
  tellChange?: () => void;
  tellUpdate?: (uri: string) => void;
} = { hasMore: false, lists: 0 };

const text = { type: "object", properties: { text: { type: "string", "x-mcp-header": "Text" } } };
const plain = { type: "object", properties: {} };

function tools(): readonly object[] {
  state.lists += 1;
  return [
    { name: "echo", description: "Says it again", inputSchema: text },
    { name: "grow", description: "Adds a tool", inputSchema: plain },
    { name: "touch", description: "Changes the resource x:a", inputSchema: plain },
    { name: "wait", description: "Waits until nobody wants it", inputSchema: plain },
    { name: "lists", description: "Tells how often its tools were listed", inputSchema: plain },
    { name: "ask", description: "Wants an answer first", inputSchema: plain },
    {
      name: "twice",
      description: "Names one header twice",
      inputSchema: {
        type: "object",
        properties: {
          a: { type: "string", "x-mcp-header": "A" },
          b: { type: "string", "x-mcp-header": "a" },
        },
      },
    },
    ...(state.hasMore ? [{ name: "more", description: "Was added", inputSchema: plain }] : []),
  ];
}

function note(line: object): void {
  if (ledger !== undefined) Deno.writeTextFileSync(ledger, `${JSON.stringify(line)}\n`, { append: true });
}

function said(words: string): object {
  return { content: [{ type: "text", text: words }] };
}

async function call({ params }: Asked, extra: Extra, { era, requestInfo }: Context): Promise<object> {
  const { name, arguments: given = {} } = params ?? {};
  const headers = Object.fromEntries(
    [...requestInfo?.headers ?? []].filter(([key]) => key.startsWith("mcp-")),
  );
  note({ tool: name, given, era, headers, envelope: extra.mcpReq.envelope ?? null });
  switch (name) {
    case "echo":
      return said(String(given["text"]));
    case "lists":
      return said(`${state.lists}`);
    case "grow":
      state.hasMore = true;
      state.tellChange?.();
      return said("grown");
    case "touch":
      state.tellUpdate?.("x:a");
      return said("touched");
    case "ask":
      return {
        resultType: "input_required",
        requestState: "state-1",
        inputRequests: { who: { method: "roots/list", params: {} } },
      };
    case "wait":
      await new Promise<void>((resolve) =>
        extra.mcpReq.signal.addEventListener("abort", () => resolve(), { once: true })
      );
      note({ tool: name, ended: "canceled" });
      return said("given up");
    default:
      return said("done");
  }
}

function makeServer(context: Context): ModernServer {
  const server = new Server({ name: "modern", version: "2.4.0" }, {
    capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
    cacheHints: { "tools/list": { ttlMs: 60_000, cacheScope: "private" } },
  });
  server.setRequestHandler("tools/list", () => ({ tools: tools() }));
  server.setRequestHandler("tools/call", (request, extra) => call(request, extra, context));
  server.setRequestHandler("resources/list", () => ({ resources: [{ uri: "x:a", name: "a" }] }));
  server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: [] }));
  if (way === "stdio") {
    state.tellChange = () => void server.sendToolListChanged();
    state.tellUpdate = (uri) => void server.sendResourceUpdated({ uri });
  }
  return server;
}

if (way === "stdio") {
  const { serveStdio } = await import(`${packageName}/stdio`) as StdioPackage;
  serveStdio(makeServer, legacy === undefined ? {} : { legacy });
} else {
  const handler = createMcpHandler(makeServer, legacy === undefined ? {} : { legacy });
  state.tellChange = () => handler.notify.toolsChanged();
  state.tellUpdate = (uri) => handler.notify.resourceUpdated(uri);
  Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen: ({ port }) => console.log(port),
  }, (request) => handler.fetch(request));
}
