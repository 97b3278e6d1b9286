/** What a server says unasked: that what it offers changed, and what it logs. */
import { z } from "zod";
import { limits } from "../../schemas/limits.ts";
import { oneLine } from "./plain_text.ts";
import {
  type Client,
  type LoggingMessageNotification,
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "./sdk_v1.ts";

const lineCharactersMax = 500;
const linesMax = 200;

/** News of a task. What they say is asked for: only then it is known to be the newest. */
const params = z.looseObject({ taskId: z.string() });
const taskNews = z.looseObject({ method: z.literal("notifications/tasks/status"), params });
/** The same by the extension of 2026-07-28. */
const extensionNews = z.looseObject({ method: z.literal("notifications/tasks"), params });

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
  #change = Promise.withResolvers<void>();
  /** Who waits for news of which task. */
  readonly #tasks = new Map<string, PromiseWithResolvers<void>>();

  constructor(sdk: Client, onUpdated: (uri: string) => void = () => {}) {
    // Whatever the notice says, and however often it comes, it means one thing.
    const noteChange = () => this.#change.resolve();
    sdk.setNotificationHandler(ToolListChangedNotificationSchema, noteChange);
    sdk.setNotificationHandler(ResourceListChangedNotificationSchema, noteChange);
    sdk.setNotificationHandler(PromptListChangedNotificationSchema, noteChange);
    sdk.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => onUpdated(params.uri));
    sdk.setNotificationHandler(taskNews, ({ params }) => this.#tellOf(params.taskId));
    sdk.setNotificationHandler(extensionNews, ({ params }) => this.#tellOf(params.taskId));
    sdk.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => this.#take(params));
  }

  /** What the server offers is asked for: only a change after this is one. */
  listing(): void {
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

  #take({ level, logger, data }: LoggingMessageNotification["params"]): void {
    const words = typeof data === "string" ? data : JSON.stringify(data) ?? "";
    const from = logger === undefined ? "" : `${logger}: `;
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
