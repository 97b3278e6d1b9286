/**
 * What becomes of agents when the program that began them goes away. Who is to stop then has a row from its birth on,
 * which is deleted once it has ended: no death of a runtime in between loses the intention, the next one carries it out.
 */
import { z } from "zod";
import { apiLimits } from "../../schemas/api_limits.ts";
import { type RootAddress, RootAddress as RootAddresses } from "../../schemas/ids.ts";
import { Principal, principalText } from "../../schemas/principal.ts";
import { keys, prefixes } from "../journal/keys.ts";
import type { StoreKey } from "../journal/store.ts";
import type { BirthRows } from "../kernel/create_once.ts";
import { type RowChanges, setRows } from "../kernel/set_rows.ts";
import type { Runtime } from "../runtime.ts";
import type { Seams } from "../seams.ts";
import { ApiFailure } from "./api_failure.ts";
import type { Caller } from "./caller.ts";

const FateRow = z.object({ root: RootAddresses, by: Principal });
const HeartRow = z.object({ everyMs: z.number() });

type Fate = z.infer<typeof FateRow>;

/** What fates are carried out with. */
export interface FatesParts {
  readonly runtime: Runtime;
  readonly seams: Pick<Seams, "clock" | "nextId" | "log">;
  /** True if other runtimes work on the same store: their programs may be there, so a start stops nobody. */
  readonly isShared?: boolean | undefined;
  /** Told of every connection that is over. */
  readonly onEnd?: ((connection: string) => Promise<void>) | undefined;
}

/** The connection whose end is the end of the program: the carrier's, or that of the principal's heartbeats. */
export function connectionOf({ connection, principal }: Caller): string {
  return connection ?? `heart:${principalText(principal)}`;
}

interface Heart {
  readonly everyMs: number;
  /** Aborts when the next heartbeat has come. */
  readonly renewed: AbortController;
}

/** The connections of programs to one runtime. */
export class Fates {
  readonly #parts: FatesParts;
  readonly #open = new Set<string>();
  readonly #hearts = new Map<string, Heart>();
  readonly #enough = new AbortController();

  constructor(parts: FatesParts) {
    this.#parts = parts;
  }

  /**
   * Stops those whose program is gone: no pipe outlives a runtime. A program with a heartbeat gets its whole time anew.
   * Resolves once every stop is asked for, durably.
   */
  async begin(): Promise<void> {
    if (this.#parts.isShared === true) return;
    const { journal } = this.#parts.runtime;
    for await (const { key, value } of journal.listRows(prefixes.hearts)) {
      const row = HeartRow.safeParse(value).data;
      if (row !== undefined) this.#arm(String(key[1]), row.everyMs);
    }
    const gone = new Set<string>();
    for await (const { key } of journal.listRows(prefixes.fates)) gone.add(String(key[1]));
    for (const connection of gone) {
      if (!this.isAlive(connection)) await this.#ask(connection);
    }
  }

  /** Nothing lapses any more: the runtime stops. */
  stop(): void {
    this.#enough.abort();
    for (const { renewed } of this.#hearts.values()) renewed.abort();
  }

  /** Opens a connection. */
  open(): string {
    const id = this.#parts.seams.nextId("con");
    this.#open.add(id);
    return id;
  }

  /** False if the program is gone, as far as is known. */
  isAlive(connection: string): boolean {
    return this.#open.has(connection) || this.#hearts.has(connection);
  }

  /** The row of a session that stops with its program. Throws `heartbeat_missing` if that cannot be told. */
  rowsOf(connection: string, root: RootAddress, by: Principal): BirthRows {
    if (this.isAlive(connection)) return [{ key: keys.fate(connection, root), value: { root, by } }];
    throw new ApiFailure(
      "heartbeat_missing",
      "An agent that stops with its program needs to know that there is one: send a heartbeat first, and go on so",
    );
  }

  /** Hears a heartbeat. Gives when the program counts as gone without another one. */
  async beat(connection: string, everyMs: number): Promise<number> {
    if (this.#hearts.get(connection)?.everyMs !== everyMs) {
      await this.#write({ sets: [{ key: keys.heart(connection), value: { everyMs } }], deletes: [] });
    }
    return this.#arm(connection, everyMs);
  }

  /** The program is gone. Resolves when everything that was to stop with it has ended. */
  async end(connection: string): Promise<void> {
    this.#open.delete(connection);
    const ended = await this.#ask(connection);
    await Promise.all([...ended, this.#parts.onEnd?.(connection)]);
  }

  #arm(connection: string, everyMs: number): number {
    const { clock } = this.#parts.seams;
    this.#hearts.get(connection)?.renewed.abort();
    const renewed = new AbortController();
    this.#hearts.set(connection, { everyMs, renewed });
    const lapsesAt = clock.now() + apiLimits.heartbeatsMissedMax * everyMs;
    void clock.sleepUntil(lapsesAt, renewed.signal).then(async () => {
      if (renewed.signal.aborted || this.#enough.signal.aborted) return;
      this.#hearts.delete(connection);
      await this.end(connection);
      // A heartbeat may have come meanwhile.
      if (!this.isAlive(connection)) await this.#write({ sets: [], deletes: [keys.heart(connection)] });
    }).catch((error) => this.#warn(connection, error));
    return lapsesAt;
  }

  /** Asks all who stop with this connection to end. Resolves once that is durable; what it gives, when they have. */
  async #ask(connection: string): Promise<readonly Promise<void>[]> {
    const found: { readonly key: StoreKey; readonly fate: Fate }[] = [];
    for await (const { key, value } of this.#parts.runtime.journal.listRows(prefixes.fate(connection))) {
      const fate = FateRow.safeParse(value).data;
      if (fate !== undefined) found.push({ key, fate });
    }
    const asked = found.map(({ key, fate }) =>
      this.#close(key, fate).catch((error) => this.#warn(fate.root, error))
    );
    return (await Promise.all(asked)).map((closed) => closed?.ended ?? Promise.resolve());
  }

  async #close(key: StoreKey, { root, by }: Fate): Promise<{ readonly ended: Promise<void> }> {
    const message = {
      type: "session.close",
      strictness: "forced",
      reason: "The program that began it is gone",
    } as const;
    // The same key after a crash: it is asked for once. No client's key has a control character.
    const { accepted, reply } = await this.#parts.runtime.send(root, message, {
      key: `fate\u001f${root}`,
      by,
    });
    await accepted();
    const ended = reply.then(() => this.#write({ sets: [], deletes: [key] })).catch(() => {});
    return { ended };
  }

  #write(changes: RowChanges): Promise<void> {
    return setRows(this.#parts.runtime.kernel, changes);
  }

  #warn(what: string, error: unknown): undefined {
    this.#parts.seams.log({ level: "warning", event: "fate.failed", detail: { what, error: String(error) } });
  }
}
