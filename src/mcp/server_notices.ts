/** What a server says unasked: that what it offers changed, and what it logs. */
import { limits } from "../../schemas/limits.ts";
import { oneLine } from "./plain_text.ts";
import type { ServerNotice } from "./protocol.ts";

/** Whatever such a notice says, and however often it comes, it means one thing. */
const changes: ReadonlySet<string> = new Set([
  "notifications/tools/list_changed",
  "notifications/resources/list_changed",
  "notifications/prompts/list_changed",
]);

/** News of a task, by 2025-11-25 and by the extension of 2026-07-28. What they say is asked for: only then it is known. */
const taskNews: ReadonlySet<string> = new Set(["notifications/tasks/status", "notifications/tasks"]);

const lineCharactersMax = 500;
const linesMax = 200;

/** A call that people watch. */
interface Listener {
  readonly show: (line: string) => void;
  shown: number;
}

/**
 * Hears a server. What it logs during a call is shown to who watches the call; nobody knows which of several it belongs
 * to, so it is shown once, with the one that began last. What it logs besides is kept, the last 200 lines of it.
 */
export class ServerNotices {
  readonly #listeners: Listener[] = [];
  readonly #lines: string[] = [];
  /** True if something of what the server offers may have changed since it was asked for. */
  isChanged = false;
  #change = Promise.withResolvers<void>();
  /** Who waits for news of which task. */
  readonly #tasks = new Map<string, PromiseWithResolvers<void>>();

  readonly #onUpdated: (uri: string) => void;

  /** `onUpdated` is told of each resource that the server says has changed. */
  constructor(onUpdated: (uri: string) => void = () => {}) {
    this.#onUpdated = onUpdated;
  }

  /** Takes what the server said. */
  take({ method, params }: ServerNotice): void {
    if (changes.has(method)) this.noteChange();
    else if (method === "notifications/message") this.#log(params);
    else if (method === "notifications/resources/updated" && typeof params["uri"] === "string") {
      this.#onUpdated(params["uri"]);
    } else if (taskNews.has(method) && typeof params["taskId"] === "string") this.#tellOf(params["taskId"]);
  }

  /** Something of what the server offers may have changed. */
  noteChange(): void {
    this.isChanged = true;
    this.#change.resolve();
  }

  /** What the server offers is asked for: only a change after this is one. */
  listing(): void {
    this.isChanged = false;
    this.#change = Promise.withResolvers<void>();
  }

  /** Resolves once the server has said that something of what it offers changed. */
  changed(): Promise<void> {
    return this.#change.promise;
  }

  /** Resolves with the next news of a task; never once nobody waits any more. */
  async taskTold(task: string, signal: AbortSignal): Promise<void> {
    const told = this.#tasks.get(task) ?? Promise.withResolvers<void>();
    this.#tasks.set(task, told);
    signal.addEventListener("abort", () => this.#tasks.delete(task), { once: true });
    await told.promise;
  }

  #tellOf(task: string): void {
    this.#tasks.get(task)?.resolve();
    this.#tasks.delete(task);
  }

  /** Shows what is logged while `work` goes on. */
  async during<T>(show: (line: string) => void, work: () => Promise<T>): Promise<T> {
    const listener = { show, shown: 0 };
    this.#listeners.push(listener);
    try {
      return await work();
    } finally {
      this.#listeners.splice(this.#listeners.indexOf(listener), 1);
    }
  }

  /** The end of what was logged and shown with no call, at most so many characters. */
  log(charactersMax: number): string {
    return this.#lines.join("\n").slice(-charactersMax);
  }

  #log({ level, logger, data }: ServerNotice["params"]): void {
    if (typeof level !== "string") return;
    const words = typeof data === "string" ? data : JSON.stringify(data) ?? "";
    const from = typeof logger === "string" ? `${logger}: ` : "";
    const line = oneLine(`[${level}] ${from}${words.slice(0, 10 * lineCharactersMax)}`, lineCharactersMax);
    const listener = this.#listeners.at(-1);
    if (listener !== undefined && listener.shown < limits.mcpLogShownMax) {
      listener.shown += 1;
      return listener.show(line);
    }
    this.#lines.push(line);
    if (this.#lines.length > linesMax) this.#lines.shift();
  }
}
