/**
 * A well-behaved MCP server over stdio for tests, which leaves traces: a script without packages.
 *
 *   deno run -A tests/e2e/mcp_server.ts PLAN [MARK]
 *
 * PLAN is a {@linkcode ServerPlan} as JSON; MARK is for those who look for the process. Its tools are those of the plan,
 * or else all of these:
 *
 *   search     says which server it is, and gives its arguments back
 *   wait       answers once the file `{ "file": PATH }` exists
 *   variables  names the variables of its environment, each with the length of its value
 */

import type { Offers } from "./mcp_offers.ts";

/** What a server does. */
export interface ServerPlan {
  /** What it says of itself in its answers. */
  readonly name: string;
  /** A file that gets one JSON line when the process starts, `{ pid, ppid }`. */
  readonly started?: string;
  /** A file that gets one JSON line for every call before anything else is done, `{ tool, arguments, key }`. */
  readonly ledger?: string;
  /** A file with the tools that it lists, as JSON: read at each list. */
  readonly tools?: string;
  /** It dies in mid-call as long as its ledger has no more lines than that. */
  readonly diesInCalls?: number;
  /** A variable whose value it writes to standard error before it exits with code 3. */
  readonly tells?: string;
  /** A variable whose value it writes to standard error at every call. */
  readonly mutters?: string;
  /** It says at every call, more than once, that its tools changed; a word, that something else did. */
  readonly announces?: boolean | "resources" | "prompts";
  /** What it offers besides tools. */
  readonly offers?: Offers;
  /** The results of its tools, by name. */
  readonly results?: { readonly [tool: string]: unknown };
  /** What it logs once it was greeted; `${NAME}` stands for a variable of its environment. */
  readonly logs?: readonly unknown[];
  /** What it logs at every call. */
  readonly logsInCalls?: readonly unknown[];
  /** It goes on at the end of its input and at TERM: only KILL ends it. */
  readonly isStubborn?: boolean;
}

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly arguments?: { readonly file?: string };
    readonly _meta?: { readonly [key: string]: unknown };
  };
}

/** Who answers what is no question of tools. */
type OfferDesk = typeof import("./mcp_offers.ts");

const inputSchema = { type: "object", properties: {}, additionalProperties: true };
const allTools = ["search", "wait", "variables"].map((name) => ({
  name,
  description: `The tool ${name}`,
  inputSchema,
}));

function appendLine(file: string | undefined, line: unknown): void {
  if (file === undefined) return;
  Deno.writeTextFileSync(file, `${JSON.stringify(line)}\n`, { append: true });
}

function linesIn(file: string): number {
  return Deno.readTextFileSync(file).split("\n").length - 1;
}

class Server {
  readonly #plan: ServerPlan;
  readonly #desk: OfferDesk | undefined;

  constructor(plan: ServerPlan, desk?: OfferDesk) {
    this.#plan = plan;
    this.#desk = desk;
  }

  take({ id, method, params }: Message): void {
    switch (method) {
      case "initialize":
        return this.#answer(id, {
          protocolVersion: "2025-11-25",
          capabilities: { tools: {}, ...this.#desk?.declared(this.#plan.offers ?? {}) },
          serverInfo: { name: this.#plan.name, version: "1" },
        });
      case "ping":
        return this.#answer(id, {});
      case "notifications/initialized":
        return this.#log(this.#plan.logs);
      case "tools/list":
        return this.#answer(id, { tools: this.#tools() });
      case "tools/call":
        return void this.#call(id, params);
      default:
        return this.#offer(id, method ?? "", params);
    }
  }

  /** Answers what is no question of tools; a plan without offers knows none. */
  #offer(id: Message["id"], method: string, params: Message["params"]): void {
    const { offers, ledger } = this.#plan;
    if (id === undefined || offers === undefined || this.#desk === undefined) return;
    const key = params?._meta?.["troupe/idempotency-key"];
    appendLine(ledger, { method, params: { ...params, _meta: undefined }, key });
    this.#announce();
    this.#log(this.#plan.logsInCalls);
    this.#send({ id, ...this.#desk.answerOffer(offers, method, { ...params }) });
  }

  #announce(): void {
    const { announces = false } = this.#plan;
    if (announces === false) return;
    for (let notices = 3; notices > 0; notices--) {
      this.#send({ method: `notifications/${announces === true ? "tools" : announces}/list_changed` });
    }
  }

  #tellUpdates(): void {
    for (const uri of this.#desk?.watched ?? []) {
      for (let times = 20; times > 0; times--) {
        this.#send({ method: "notifications/resources/updated", params: { uri } });
      }
    }
  }

  #log(messages: readonly unknown[] = []): void {
    for (const params of messages) {
      const text = JSON.stringify({ method: "notifications/message", params });
      this.#send(JSON.parse(text.replace(/\$\{(\w+)\}/g, (_, name) => Deno.env.get(name) ?? "")));
    }
  }

  #tools(): readonly { readonly name: string }[] {
    const { tools } = this.#plan;
    return tools === undefined ? allTools : JSON.parse(Deno.readTextFileSync(tools));
  }

  async #call(id: Message["id"], params: Message["params"]): Promise<void> {
    const { name, ledger, mutters, diesInCalls = 0 } = this.#plan;
    const given = params?.arguments;
    appendLine(ledger, {
      tool: params?.name,
      arguments: given,
      key: params?._meta?.["troupe/idempotency-key"],
    });
    if (mutters !== undefined) tell(mutters);
    this.#announce();
    this.#tellUpdates();
    this.#log(this.#plan.logsInCalls);
    if (ledger !== undefined && linesIn(ledger) <= diesInCalls) Deno.exit(7);
    if (!this.#tools().some((tool) => tool.name === params?.name)) {
      return this.#send({ id, error: { code: -32602, message: "no such tool" } });
    }
    const planned = this.#plan.results?.[params?.name ?? ""];
    if (planned !== undefined) return this.#answer(id, planned);
    if (params?.name === "wait") await untilThere(given?.file ?? "");
    const text = params?.name === "variables"
      ? JSON.stringify(Object.entries(Deno.env.toObject()).map(([key, value]) => [key, value.length]).sort())
      : `${name} found ${JSON.stringify(given)}`;
    this.#answer(id, { content: [{ type: "text", text }] });
  }

  #answer(id: Message["id"], result: unknown): void {
    this.#send({ id, result });
  }

  #send(message: { readonly [key: string]: unknown }): void {
    const bytes = new TextEncoder().encode(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
  }
}

/** Tells a value as some programs do when they fail: as they sent it, and as they were given it. */
function tell(variable: string): void {
  const value = Deno.env.get(variable) ?? "";
  const text = `sent Basic ${btoa(`user:${value}`)}\ncannot log in with "${value}"\n`;
  Deno.stderr.writeSync(new TextEncoder().encode(text));
}

async function untilThere(file: string): Promise<void> {
  while (await Deno.stat(file).then(() => false, () => true)) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function serve(plan: ServerPlan): Promise<void> {
  appendLine(plan.started, { pid: Deno.pid, ppid: Deno.ppid });
  if (plan.isStubborn === true) {
    Deno.addSignalListener("SIGTERM", () => {});
    setInterval(() => {}, 60_000);
  }
  if (plan.tells !== undefined) {
    tell(plan.tells);
    Deno.exit(3);
  }
  // Only then, so that the script alone serves a plan without offers.
  const desk = plan.offers === undefined ? undefined : await import("./mcp_offers.ts");
  const server = new Server(plan, desk);
  let unread = "";
  for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (unread + text).split("\n");
    unread = lines.pop() ?? "";
    for (const line of lines) server.take(JSON.parse(line));
  }
  if (plan.isStubborn !== true) Deno.exit(0);
}

if (import.meta.main) await serve(JSON.parse(Deno.args[0] ?? "{}"));
