/** Calls without a runtime, by the SDK's own client and transport, and by our client alone. */
import { StdioClientTransport } from "./mcp_sdk_stdio.ts";
import { StreamableHTTPClientTransport } from "./mcp_sdk_http.ts";
import { openMcpClient } from "../../src/mcp/client.ts";
import { openHttpClient } from "../../src/mcp/http_client.ts";
import { CallToolResultSchema, Client, type Transport } from "../../src/mcp/sdk_v1.ts";
import { GuardedClient } from "../../src/net/guarded_client.ts";
import { UrlPolicy } from "../../src/net/url_policy.ts";
import { ProcessRegistry } from "../../src/processes/registry.ts";
import type { Seams } from "../../src/seams.ts";
import { argumentsOf, checkText, type McpCase, program } from "./mcp_case.ts";
import type { McpAnswer, McpRequest, McpSide } from "./mcp_protocol.ts";

/** A connection that knows its server's tools. */
interface Caller {
  /** Calls once, and gives the text of the result. */
  call(): Promise<unknown>;
  close(): Promise<unknown>;
}

const idleMs = 60_000;

/** The client of the SDK over the SDK's transport, as its documentation uses it. */
export function createSdkSide(): McpSide {
  return { measure: (request) => measure(request, openSdk), stop: () => Promise.resolve() };
}

/** The SDK's client, connected to a server of its own with more arguments. */
export function openSdkClient(more: readonly string[] = []): Promise<Client> {
  const args = [...program.args, ...more];
  return connected(new StdioClientTransport({ ...program, args, cwd: Deno.cwd() }));
}

async function connected(transport: Transport): Promise<Client> {
  const client = new Client({ name: "bench", version: "1" }, { capabilities: {} });
  await client.connect(transport);
  return client;
}

async function openSdk({ asked, url }: McpRequest): Promise<Caller> {
  const client = asked.transport === "stdio"
    ? await openSdkClient()
    : await connected(new StreamableHTTPClientTransport(new URL(url)) as Transport);
  await client.listTools();
  return {
    call: async () => {
      const params = { name: asked.tool, arguments: argumentsOf(asked) };
      const { content } = await client.request({ method: "tools/call", params }, CallToolResultSchema);
      return firstText(content);
    },
    close: () => client.close(),
  };
}

/** Our client over our transport and our child, without anything above. */
export function createClientSide(seams: Seams, store: string): McpSide {
  const { clock, digest, log } = seams;
  const registry = new ProcessRegistry({ store, runId: seams.nextId("run"), clock, digest, log });
  const signal = new AbortController().signal;
  const http = new GuardedClient({ policy: new UrlPolicy({ allow: ["127.0.0.1"] }), clock });
  const open = async ({ asked, url }: McpRequest): Promise<Caller> => {
    const handshake = { clock, connectMs: idleMs, signal };
    const client = asked.transport === "stdio"
      ? await openMcpClient({
        ...handshake,
        child: await registry.start({ ...program, env: environment(), cwd: Deno.cwd() }),
      })
      : await openHttpClient({ ...handshake, url, headers: {}, fetch: http.fetch });
    await client.list(signal);
    return {
      call: async () => {
        const answered = await client.call({
          tool: asked.tool,
          arguments: argumentsOf(asked),
          key: "bench",
          signal,
          idleMs,
          onProgress: () => {},
        });
        if (answered.status !== "returned") throw new Error(answered.failure.message);
        return firstText((answered.result as { readonly content?: unknown }).content);
      },
      close: () => client.close(),
    };
  };
  const stop = async () => {
    http.close();
    await registry.closeAll();
  };
  return { measure: (request) => measure(request, open), stop };
}

/** What the SDK passes on by itself, so that both servers have the same. */
function environment(): { readonly [name: string]: string } {
  const found: Record<string, string> = {};
  for (const name of ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"]) {
    const value = Deno.env.get(name);
    if (value !== undefined) found[name] = value;
  }
  return { ...found, ...program.env };
}

function firstText(content: unknown): unknown {
  const blocks = content as readonly { readonly text?: unknown }[] | undefined;
  return blocks?.[0]?.text;
}

async function measure(
  request: McpRequest,
  open: (request: McpRequest) => Promise<Caller>,
): Promise<McpAnswer> {
  const { asked, groups, warmUps } = request;
  const start = performance.now();
  const caller = await open(request);
  const connectMs = performance.now() - start;
  const times: number[] = [];
  try {
    for (let group = -warmUps; group < groups; group++) {
      const ms = await runGroup(caller, asked);
      if (group >= 0) times.push(ms);
    }
  } finally {
    await caller.close();
  }
  return { connectMs, times, emptyTurns: [] };
}

async function runGroup({ call }: Caller, asked: McpCase): Promise<number> {
  const start = performance.now();
  if (asked.shape === "apart") {
    for (let index = 0; index < asked.calls; index++) checkText(asked, await call());
  } else {
    const texts = await Promise.all(Array.from({ length: asked.calls }, () => call()));
    for (const text of texts) checkText(asked, text);
  }
  return performance.now() - start;
}
