/**
 * An MCP server over stdio for tests that asks before it answers: a script without packages.
 *
 *   deno run -A tests/support/asking_server.ts PLAN [MARK]
 *
 * PLAN is a file that holds an {@linkcode AskingPlan} as JSON; MARK is for those who look for the process. Its tools:
 *
 *   ask     sends its groups of requests, one group after the other, and answers with what it was answered
 *   rounds  answers its n-th call with the n-th of its results, a last one over and over
 */

/** What a server asks. */
export interface AskingPlan {
  /** A file that gets every message that the server reads, one JSON line each. */
  readonly ledger: string;
  /** Requests of the tool `ask`, each with its method and parameters: a group goes out at once. */
  readonly asks?: readonly (readonly AskedOf[])[];
  /** Results of the tool `rounds`; one with `error` is an error. */
  readonly results?: readonly { readonly [field: string]: unknown }[];
  /** What it asks right after it was greeted, with no call open. */
  readonly early?: readonly AskedOf[];
}

/** One request of the server. */
export interface AskedOf {
  readonly method: string;
  readonly params?: unknown;
}

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: { readonly name?: string };
  readonly result?: unknown;
  readonly error?: unknown;
}

const inputSchema = { type: "object", properties: {}, additionalProperties: true };
const tools = ["ask", "rounds"].map((name) => ({ name, description: `The tool ${name}`, inputSchema }));

class AskingServer {
  readonly #plan: AskingPlan;
  readonly #waiting = new Map<string, (message: Message) => void>();
  #asked = 0;

  constructor(plan: AskingPlan) {
    this.#plan = plan;
  }

  take(message: Message): void {
    Deno.writeTextFileSync(this.#plan.ledger, `${JSON.stringify(message)}\n`, { append: true });
    const { id, method, params } = message;
    if (method === undefined) return this.#waiting.get(String(id))?.(message);
    if (method === "initialize") {
      const serverInfo = { name: "asking", version: "1" };
      return this.#send({
        id,
        result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo },
      });
    }
    if (method === "notifications/initialized") this.#askAll(this.#plan.early ?? []);
    if (method === "tools/list") return this.#send({ id, result: { tools } });
    if (method === "tools/call" && params?.name === "ask") return void this.#ask(id);
    if (method === "tools/call") return this.#nextResult(id);
    if (method === "ping") this.#send({ id, result: {} });
  }

  async #ask(id: Message["id"]): Promise<void> {
    const told: unknown[] = [];
    for (const group of this.#plan.asks ?? []) told.push(...await this.#askAll(group));
    this.#send({ id, result: { content: [{ type: "text", text: JSON.stringify(told) }] } });
  }

  #askAll(group: readonly AskedOf[]): Promise<unknown[]> {
    return Promise.all(group.map((request) =>
      new Promise<unknown>((resolve) => {
        const id = `s${++this.#asked}`;
        this.#waiting.set(id, ({ result, error }) => resolve(result ?? error));
        this.#send({ id, ...request });
      })
    ));
  }

  #nextResult(id: Message["id"]): void {
    const { ledger, results = [] } = this.#plan;
    // Counted in the file: the next process goes on where this one was killed.
    const calls =
      Deno.readTextFileSync(ledger).split("\n").filter((line) => line.includes('"tools/call"')).length;
    const { error, ...result } = results[Math.min(calls, results.length) - 1] ?? {};
    this.#send(error === undefined ? { id, result } : { id, error });
  }

  #send(message: object): void {
    const bytes = new TextEncoder().encode(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    for (let written = 0; written < bytes.length;) written += Deno.stdout.writeSync(bytes.subarray(written));
  }
}

if (import.meta.main) {
  const server = new AskingServer(JSON.parse(Deno.readTextFileSync(Deno.args[0] ?? "")));
  let rest = "";
  for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") server.take(JSON.parse(line));
  }
}
