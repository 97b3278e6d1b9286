/** A server on loopback that speaks one wire: what it is asked is kept, and it answers as its test says. */
import type { ModelEvent, ModelRequest } from "../../../schemas/model.ts";
import { ModelSettings, ProviderConfig } from "../../../schemas/provider.ts";
import { HostModels } from "../../../src/host/host_models.ts";
import { ModelDirectory } from "../../../src/model/model_directory.ts";
import { ModelError, type ModelProvider } from "../../../src/model/provider.ts";
import { KnownSecrets } from "../../../src/redact/known_secrets.ts";
import { createSystemSeams } from "../../../src/system_seams.ts";
import type { Reply, Wire } from "./reply.ts";

/** One request as it came. */
export interface Asked {
  readonly path: string;
  readonly headers: Headers;
  // deno-lint-ignore no-explicit-any
  readonly body: any;
}

/** What the server does with a request; the number is counted from 0. */
export type Answerer = (asked: Asked, number: number) => Response | Promise<Response>;

/** The key that providers of tests have. */
export const testKey = "sk-test-4f9a1c07b2d84e63";

/** A server. */
export class VendorServer {
  readonly asked: Asked[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  answer: Answerer;

  constructor(answer: Answerer, tls?: { readonly cert: string; readonly key: string }) {
    this.answer = answer;
    const options = { hostname: "127.0.0.1", port: 0, onListen: () => {}, ...tls };
    this.#server = Deno.serve(options, async (request) => {
      const text = await request.text();
      const asked = {
        path: new URL(request.url).pathname + new URL(request.url).search,
        headers: request.headers,
        body: text === "" ? undefined : JSON.parse(text),
      };
      return await this.answer(asked, this.asked.push(asked) - 1);
    });
  }

  get port(): number {
    return this.#server.addr.port;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  close(): Promise<void> {
    return this.#server.shutdown();
  }
}

const encoder = new TextEncoder();

/** A stream of events. Pieces are sent as they are given. `isCut`: the connection breaks behind them. */
export function events(
  parts: readonly (string | Uint8Array<ArrayBuffer>)[],
  { isCut = false, headers = {} }: { readonly isCut?: boolean; readonly headers?: HeadersInit } = {},
): Response {
  const left = [...parts];
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      const next = left.shift();
      if (next !== undefined) {
        return controller.enqueue(typeof next === "string" ? encoder.encode(next) : next);
      }
      controller.close();
    },
  });
  const length = isCut ? { "content-length": "10000000" } : {};
  return new Response(body, { headers: { "content-type": "text/event-stream", ...length, ...headers } });
}

/** Replies in their order, one a request, as the wire says them. */
export function inTurn(wire: Wire, replies: readonly Reply[]): Answerer {
  return (_asked, number) => events(wire.stream(replies[number] ?? { text: "Nothing more." }));
}

/** What a provider of a test has besides. */
export interface VendorSetup {
  readonly config?: object;
  readonly settings?: object;
  readonly secrets?: readonly (readonly [string, string])[];
  readonly caCerts?: readonly string[];
}

/** The models of a host whose one provider `vendor` is that server; its model is `main`. */
export function modelsOf(wire: Wire, baseUrl: string, setup: VendorSetup = {}): HostModels {
  const provider = ProviderConfig.parse({
    kind: wire.kind,
    base_url: baseUrl,
    api_key: "env:VENDOR_KEY",
    allow_private: true,
    ...setup.config,
  });
  const settings = ModelSettings.parse({ model: "vendor/test-model", ...setup.settings });
  const secrets = new Map(
    [["env:VENDOR_KEY", testKey] as const, ...setup.secrets ?? []].map(([source, value]) => [
      source,
      { value, problem: undefined },
    ]),
  );
  return new HostModels({
    directory: new ModelDirectory({
      config: { providers: { vendor: provider }, models: { main: settings }, network: { allow: [] } },
      secrets,
    }),
    known: new KnownSecrets(),
    clock: createSystemSeams({ log: () => {} }).clock,
    log: () => {},
    ...(setup.caCerts === undefined ? {} : { caCerts: setup.caCerts }),
  });
}

/** Runs a test with a server and the provider that asks it. */
export async function withVendor(
  wire: Wire,
  answer: Answerer,
  test: (vendor: { readonly server: VendorServer; readonly provider: ModelProvider }) => Promise<void>,
  setup: VendorSetup = {},
): Promise<void> {
  const server = new VendorServer(answer);
  const models = modelsOf(wire, `${server.origin}${wire.base}`, setup);
  try {
    await test({ server, provider: await models.open("main") });
  } finally {
    models.close();
    await server.close();
  }
}

/** A request of a test. */
export function ask(more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model: "main",
    messages: [{ role: "system", text: "Be brief." }, { role: "user", text: "Go" }],
    tools: [],
    toolChoice: "auto",
    maxOutputTokens: 512,
    ...more,
  };
}

/** All events of an answer. */
export async function heard(
  provider: ModelProvider,
  request: ModelRequest = ask(),
  signal: AbortSignal = new AbortController().signal,
): Promise<ModelEvent[]> {
  return await Array.fromAsync(provider.generate(request, signal));
}

/** The failure that an answer ends with. */
export async function refusalOf(provider: ModelProvider, request: ModelRequest = ask()): Promise<ModelError> {
  try {
    await heard(provider, request);
  } catch (error) {
    if (error instanceof ModelError) return error;
    throw error;
  }
  throw new Error("The model answered");
}
