/** An MCP server over stdio that acts on the outside ledger: `deno run -A stdio_server.ts LEDGER HOLD`. */
import { applyCall, listedTools } from "./outside.ts";

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly arguments?: { readonly id?: string; readonly size?: number };
    readonly _meta?: { readonly [key: string]: unknown };
  };
}

function send(message: object): void {
  const bytes = new TextEncoder().encode(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
}

async function take({ id, method, params }: Message): Promise<void> {
  if (id === undefined) return;
  if (method === "initialize") {
    const serverInfo = { name: "outside", version: "1" };
    send({ id, result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo } });
  } else if (method === "tools/list") {
    send({ id, result: { tools: listedTools } });
  } else if (method === "tools/call") {
    const [ledger = "", hold = ""] = Deno.args;
    const given = params?.arguments ?? {};
    const key = String(params?._meta?.["troupe/idempotency-key"] ?? "");
    const call = { tool: params?.name ?? "", id: given.id ?? "", key, size: given.size ?? 0 };
    const text = await applyCall({ ledger, hold }, call);
    send({ id, result: { content: [{ type: "text", text }] } });
  } else if (method === "ping") {
    send({ id, result: {} });
  } else {
    send({ id, error: { code: -32601, message: "Method not found" } });
  }
}

let unread = "";
for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  const lines = (unread + text).split("\n");
  unread = lines.pop() ?? "";
  for (const line of lines) void take(JSON.parse(line));
}
Deno.exit(0);
