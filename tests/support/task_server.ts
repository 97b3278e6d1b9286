/**
 * An MCP server by Streamable HTTP, in this process, that carries the calls of its tools out as tasks: those outlive
 * their sessions, so that whoever comes back finds them. A test decides when and how a task ends.
 *
 * `tasks` is how it speaks of them: `asked` as 2025-11-25 does, if the call asks for a task; `told` as the extension of
 * 2026-07-28 does, whenever it likes.
 */

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly taskId?: string;
    readonly task?: { readonly ttl?: number };
    readonly inputResponses?: unknown;
    readonly _meta?: { readonly [key: string]: unknown };
  };
}

/** What became of a task. */
export type TaskEnd =
  | { readonly status: "completed" | "failed"; readonly result: unknown }
  | { readonly status: "failed"; readonly error: { readonly code: number; readonly message: string } }
  | { readonly status: "cancelled" };

interface Task {
  readonly id: string;
  status: string;
  message: string;
  end: TaskEnd | undefined;
}

/** The extension of the modern era. */
const tasksExtension = "io.modelcontextprotocol/tasks";

/** Options of {@linkcode TaskServer}. */
export interface TaskServerOptions {
  /** True for a server of 2026-07-28, which makes tasks only for who says that he takes them. */
  readonly isModern?: boolean;
  readonly tasks: "asked" | "told";
  /** What its tool `work` says of itself; `required` without. */
  readonly support?: "required" | "optional" | "forbidden";
  /** False if it does not say that it has tasks. */
  readonly declares?: boolean;
  /** What a task becomes that is canceled while it works; nothing without. */
  readonly onCancel?: TaskEnd;
}

/** The server. */
export class TaskServer {
  /** Methods in the order in which they came, without those of the handshake. */
  readonly heard: string[] = [];
  /** What a task that waits for input wants, by names; and what it was answered. */
  asked: { readonly [key: string]: unknown } = {};
  readonly updates: unknown[] = [];
  /** Calls that were carried out: each begins one task, or is answered at once. The outside's own account. */
  readonly ledger: { readonly key: unknown; readonly ttl: number | undefined }[] = [];
  readonly #options: TaskServerOptions;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #tasks = new Map<string, Task>();
  #sessions = 0;

  constructor(options: TaskServerOptions) {
    this.#options = options;
    const place = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
    this.#server = Deno.serve(place, (request) => this.#answer(request));
  }

  get port(): number {
    return this.#server.addr.port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/mcp`;
  }

  /** Sessions that were opened. */
  get sessions(): number {
    return this.#sessions;
  }

  /** How often something was asked. */
  count(method: string): number {
    return this.heard.filter((one) => one === method).length;
  }

  /** Ends all tasks that work. */
  end(end: TaskEnd): void {
    for (const task of this.#tasks.values()) {
      if (task.end === undefined) [task.end, task.status] = [end, end.status];
    }
  }

  /** Lets all tasks that work say something of themselves. */
  say(message: string, status: "working" | "input_required" = "working"): void {
    for (const task of this.#tasks.values()) [task.message, task.status] = [message, status];
  }

  /** Forgets all tasks, as a server does that is started anew. */
  forget(): void {
    this.#tasks.clear();
  }

  close(): Promise<void> {
    return this.#server.shutdown();
  }

  async #answer(request: Request): Promise<Response> {
    if (request.method === "DELETE") return new Response(null, { status: 204 });
    if (request.method !== "POST") return new Response(null, { status: 405 });
    const message: Message = JSON.parse(await request.text());
    if (message.id === undefined) return new Response(null, { status: 202 });
    if (message.method === "initialize" && !this.#options.isModern) return this.#greet(message);
    if (message.method === "server/discover" && this.#options.isModern) return this.#discover(message);
    this.heard.push(message.method ?? "");
    return Response.json({ jsonrpc: "2.0", id: message.id, ...this.#reply(message) });
  }

  #greet({ id }: Message): Response {
    const { tasks, declares = true } = this.#options;
    const offered = tasks === "asked"
      ? { tasks: { cancel: {}, requests: { tools: { call: {} } } } }
      : { extensions: { [tasksExtension]: {} } };
    const result = {
      protocolVersion: "2025-11-25",
      capabilities: { tools: {}, ...(declares ? offered : {}) },
      serverInfo: { name: "tasks", version: "1" },
    };
    const headers = { "mcp-session-id": `session-${++this.#sessions}` };
    return Response.json({ jsonrpc: "2.0", id, result }, { headers });
  }

  #discover({ id }: Message): Response {
    this.#sessions += 1;
    const capabilities = { tools: {}, extensions: { [tasksExtension]: {} } };
    const result = { resultType: "complete", supportedVersions: ["2026-07-28"], capabilities };
    return Response.json({ jsonrpc: "2.0", id, result });
  }

  #reply({ method, params }: Message): { readonly [key: string]: unknown } {
    const { support = "required" } = this.#options;
    const work = { name: "work", description: "Works", inputSchema: { type: "object" } };
    switch (method) {
      case "tools/list":
        return { result: { tools: [{ ...work, execution: { taskSupport: support } }] } };
      case "tools/call":
        return this.#call(params);
      case "tasks/get":
      case "tasks/result":
      case "tasks/cancel":
        return this.#ofTask(method, params?.taskId ?? "");
      case "tasks/update":
        this.updates.push(params?.inputResponses);
        this.asked = {};
        this.say("", "working");
        return { result: { resultType: "complete" } };
      default:
        return { error: { code: -32_601, message: "no such method" } };
    }
  }

  #call(params: Message["params"]): { readonly [key: string]: unknown } {
    this.ledger.push({ key: params?._meta?.["troupe/idempotency-key"], ttl: params?.task?.ttl });
    const isTaken = this.#options.tasks === "asked"
      ? params?.task !== undefined
      : !this.#options.isModern || takesTasks(params?._meta);
    if (!isTaken) {
      return { result: { content: [{ type: "text", text: "done at once" }] } };
    }
    const task: Task = { id: `task-${this.ledger.length}`, status: "working", message: "", end: undefined };
    this.#tasks.set(task.id, task);
    const state = this.#stateOf(task);
    return { result: this.#options.tasks === "asked" ? { task: state } : { resultType: "task", ...state } };
  }

  #ofTask(method: string, id: string): { readonly [key: string]: unknown } {
    const task = this.#tasks.get(id);
    if (task === undefined) return { error: { code: -32_602, message: `Task not found: ${id}` } };
    const { tasks, onCancel } = this.#options;
    if (method === "tasks/cancel") {
      if (task.end === undefined && onCancel !== undefined) this.end(onCancel);
      return { result: tasks === "asked" ? this.#stateOf(task) : { resultType: "complete" } };
    }
    const ended = task.end ?? {};
    if (method === "tasks/get") {
      return {
        result: tasks === "asked"
          ? this.#stateOf(task)
          : { resultType: "complete", ...this.#stateOf(task), ...ended },
      };
    }
    if ("result" in ended) return { result: ended.result };
    return { error: "error" in ended ? ended.error : { code: -32_603, message: "there is no result" } };
  }

  #stateOf({ id, status, message }: Task): { readonly [key: string]: unknown } {
    const at = "2026-01-01T00:00:00.000Z";
    const told = {
      ...(message === "" ? {} : { statusMessage: message }),
      ...(status === "input_required" ? { inputRequests: this.asked } : {}),
    };
    const state = { taskId: id, status, createdAt: at, lastUpdatedAt: at, ...told };
    return this.#options.tasks === "asked"
      ? { ...state, ttl: 3_600_000, pollInterval: 100 }
      : { ...state, ttlMs: 3_600_000, pollIntervalMs: 100 };
  }
}

function takesTasks(meta: { readonly [key: string]: unknown } = {}): boolean {
  const capabilities = meta["io.modelcontextprotocol/clientCapabilities"];
  const { extensions } = Object(capabilities) as { readonly extensions?: object };
  return tasksExtension in Object(extensions);
}

/** A result of a tool. */
export function doneWith(text: string, isError = false): TaskEnd {
  return { status: "completed", result: { content: [{ type: "text", text }], isError } };
}
