/** Arguments that held secrets, as the model wrote them: in memory only, until their call was made or its turn is over. */
import { canonicalJson, type JsonObject } from "../../schemas/json.ts";
import type { Entry } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { EntryObserver } from "../kernel/kernel.ts";

/** Sessions whose arguments are kept at once; the oldest are forgotten. Each has those of one answer at most. */
const sessionsMax = 256;

/** One call's arguments: what the model wrote, and what the journal has of it. */
export interface RawCall {
  /** `call/<step>.<i>`, as machines name the call. */
  readonly ordinal: string;
  /** The name that the model called. */
  readonly name: string;
  readonly raw: JsonObject;
  readonly shown: JsonObject;
}

/**
 * The shelf between a model's answer and the performers of its calls. Only the call that they were written for gets them:
 * of the session's latest answer, at the same place, under the same name, with the same redacted form.
 */
export class RawArguments implements EntryObserver {
  readonly #calls = new Map<RootAddress, Map<string, RawCall>>();

  /** Keeps those of a session's newest answer, and nothing of older ones. */
  keep(root: RootAddress, calls: readonly RawCall[]): void {
    this.#calls.delete(root);
    if (calls.length === 0) return;
    this.#calls.set(root, new Map(calls.map((call) => [call.ordinal, call])));
    for (const oldest of this.#calls.keys()) {
      if (this.#calls.size <= sessionsMax) break;
      this.#calls.delete(oldest);
    }
  }

  /** What the model wrote for exactly this call; undefined once it is gone. */
  of(root: RootAddress, { ordinal, name, shown }: Omit<RawCall, "raw">): JsonObject | undefined {
    const call = this.#calls.get(root)?.get(ordinal);
    if (call === undefined || call.name !== name) return undefined;
    return canonicalJson(call.shown) === canonicalJson(shown) ? call.raw : undefined;
  }

  /** Forgets those of one call: it was made. */
  drop(root: RootAddress, ordinal: string): void {
    this.#calls.get(root)?.delete(ordinal);
  }

  /** How many calls' arguments are kept. */
  get size(): number {
    return this.#calls.values().reduce((sum, calls) => sum + calls.size, 0);
  }

  /** The turn's end, told to whoever gave the prompt, ends what was kept for it. */
  observe(root: RootAddress, entries: readonly Entry[]): void {
    if (!this.#calls.has(root)) return;
    for (const { kind, type, body } of entries) {
      if (kind === "reply" && isTurnEnd(body)) this.#calls.delete(root);
      if (kind === "message" && type === "session.answered") this.#calls.delete(root);
    }
  }

  /** A session that sleeps may have calls that wait for a person: they stay. */
  forget(): void {}
}

function isTurnEnd(body: unknown): boolean {
  const value = (body as { readonly value?: { readonly turn?: unknown } | null } | null)?.value;
  return typeof value?.turn === "number";
}
