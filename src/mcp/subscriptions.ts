/** The resources of one connection that are subscribed to, and which of them changed since somebody looked. */
import type { McpNews } from "../../schemas/effect.ts";
import { limits } from "../../schemas/limits.ts";
import type { Clock } from "../seams.ts";
import type { McpClient } from "./client.ts";

/** The subscriptions of one session with a server. */
export class Subscriptions {
  readonly #uris = new Set<string>();
  readonly #updated = new Set<string>();
  #news = Promise.withResolvers<void>();
  /** When updates were passed on last, in milliseconds since the epoch. */
  #toldAtMs = -Infinity;

  /** How many there are. */
  get size(): number {
    return this.#uris.size;
  }

  has(uri: string): boolean {
    return this.#uris.has(uri);
  }

  add(uri: string): void {
    this.#uris.add(uri);
  }

  delete(uri: string): void {
    this.#uris.delete(uri);
    this.#updated.delete(uri);
  }

  /** The server says that a resource changed: one that is subscribed to, or a part of one. Others are passed over. */
  note(uri: string): void {
    const owner = this.#uris.has(uri) ? uri : this.#ownerOf(uri);
    if (owner === undefined) return;
    this.#updated.add(owner);
    this.#news.resolve();
  }

  /**
   * Resolves with what changed: once for many changes that come together, and no more often than every few seconds.
   * Never resolves once `signal` is aborted.
   */
  async updates(clock: Clock, signal: AbortSignal): Promise<readonly string[]> {
    do {
      if (this.#updated.size === 0) await this.#news.promise;
      const dueAtMs = Math.max(
        clock.now() + limits.mcpUpdateWaitMs,
        this.#toldAtMs + limits.mcpUpdateEveryMs,
      );
      await clock.sleepUntil(dueAtMs, signal);
      if (signal.aborted) return await new Promise(() => {});
      this.#news = Promise.withResolvers<void>();
    } while (this.#updated.size === 0);
    this.#toldAtMs = clock.now();
    const uris = [...this.#updated];
    this.#updated.clear();
    return uris;
  }

  #ownerOf(uri: string): string | undefined {
    const owners = [...this.#uris].filter((one) => uri.startsWith(one));
    return owners.sort((left, right) => right.length - left.length)[0];
  }
}

/**
 * Subscribes a new session to what an earlier one had, and waits for changes. What changed while there was no session
 * nobody said: those resources count as changed.
 */
export async function watchUpdates(
  client: McpClient,
  wanted: readonly string[],
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<McpNews> {
  const { subscriptions } = client;
  if (subscriptions === undefined) return await new Promise(() => {});
  for (const uri of wanted) {
    if (subscriptions.has(uri)) continue;
    subscriptions.add(uri);
    void renew(client, subscriptions, uri, signal);
  }
  return { type: "resources_updated", uris: [...await subscriptions.updates(clock, signal)] };
}

async function renew(
  client: McpClient,
  subscriptions: Subscriptions,
  uri: string,
  signal: AbortSignal,
): Promise<void> {
  const answered = await client.call({
    tool: "subscribe_resource",
    arguments: {},
    request: { method: "resources/subscribe", params: { uri } },
    signal,
    idleMs: limits.mcpListPageMs,
    onProgress: () => {},
  });
  // A server that refuses has no such resource any more, which is a change as well.
  if (answered.status === "returned" || answered.status === "refused") subscriptions.note(uri);
  else subscriptions.delete(uri);
}
