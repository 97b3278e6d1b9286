/**
 * How an agent stands, after each change. To see that, its whole family is read, so changes that come close together are
 * told as one, and looking takes a small part of the time.
 */
import { apiLimits } from "../../schemas/api_limits.ts";
import type { WatchEvent } from "../../schemas/api_view.ts";
import type { Entry } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { ApiCallContext } from "./api_parts.ts";
import { treeOf } from "./views.ts";

/** Tells the state as it is now, and whenever it is another one, unless one look is all that is wanted. */
export async function* watchState(
  context: ApiCallContext,
  { address, follow }: { readonly address: RootAddress; readonly follow: boolean },
): AsyncIterable<WatchEvent> {
  const { parts: { host, seams: { clock } }, signal } = context;
  // How it stands is told, not how it came to it: only what is news makes it worth another look.
  const { seq } = await host.readHead(address);
  const leave = new AbortController();
  const either = AbortSignal.any([signal, leave.signal]);
  const news = follow ? new News(host.follow(address, seq + 1, either), seq) : undefined;
  let last = "";
  try {
    for (let at: number | undefined = seq; at !== undefined; at = await news?.next()) {
      const beganMs = clock.now();
      const actors = await treeOf(context, address);
      const text = JSON.stringify(actors);
      if (text !== last) yield { type: "state", seq: at, actors };
      last = text;
      const tookMs = clock.now() - beganMs;
      const pauseMs = Math.max(apiLimits.statePauseMs, tookMs * apiLimits.statePauseRatio);
      if (news !== undefined) await clock.sleepUntil(clock.now() + pauseMs, signal);
    }
  } finally {
    leave.abort();
    await news?.ended;
  }
}

/** Reads what comes as fast as it comes, and keeps of it only where it ends. */
class News {
  /** Resolves once nothing is read any more. */
  readonly ended: Promise<void>;
  #seq: number;
  #isFresh = false;
  #end: { readonly error?: unknown } | undefined;
  #come = Promise.withResolvers<void>();

  constructor(pages: AsyncIterable<readonly Entry[]>, seq: number) {
    this.#seq = seq;
    this.ended = this.#read(pages);
  }

  /** Where the journal stands by now, once something has come; undefined at the end. */
  async next(): Promise<number | undefined> {
    while (!this.#isFresh && this.#end === undefined) await this.#come.promise;
    if (this.#end?.error !== undefined) throw this.#end.error;
    if (!this.#isFresh) return undefined;
    this.#isFresh = false;
    return this.#seq;
  }

  async #read(pages: AsyncIterable<readonly Entry[]>): Promise<void> {
    try {
      for await (const page of pages) {
        this.#seq = page.at(-1)?.seq ?? this.#seq;
        this.#isFresh = true;
        this.#tell();
      }
      this.#end = {};
    } catch (error) {
      this.#end = { error };
    }
    this.#tell();
  }

  #tell(): void {
    this.#come.resolve();
    this.#come = Promise.withResolvers();
  }
}
