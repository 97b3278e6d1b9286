/**
 * Letters that a cut root had taken in the part that is lost: they are put on their way again, so that what it waits for
 * comes (K13). Those of one sender arrive in order, so the first ones are those that its sound part has taken.
 */
import { z } from "zod";
import type { Entry } from "../../schemas/entry.ts";
import { keys, prefixes } from "./keys.ts";
import { decodePackedValue, type Digest } from "./packed_value.ts";
import type { SavedRoot } from "./salvage_rows.ts";
import type { Store, StoreKey } from "./store.ts";
import { restoreBody } from "./stream_reader.ts";

/** One letter as its row holds it. */
export interface LostLetter {
  readonly key: StoreKey;
  readonly value: { readonly message: unknown };
}

/** Work that was begun must not begin again, so a task is brought nothing but its end. */
const takers: ReadonlySet<string> = new Set(["session", "catalog", "connection", "supervisor"]);

const Sent = z.looseObject({ n: z.number(), to: z.string(), message: z.unknown() });
const Taken = z.looseObject({ sender: z.string().exactOptional() });
const Poisoned = z.looseObject({ input: Taken });

/** What is read for it: the new store, with all streams in it. */
export interface LettersOrder {
  readonly target: Store;
  readonly digest: Digest;
  readonly roots: ReadonlyMap<string, SavedRoot>;
}

/** The letters to cut roots that lie behind those that their sound parts have taken. Reads the new store. */
export async function lostLetters(order: LettersOrder): Promise<readonly LostLetter[]> {
  const { roots } = order;
  const cut = new Set(
    [...roots].filter(([, { record }]) => record.cut !== undefined && takers.has(record.kind)).map(([root]) =>
      root
    ),
  );
  if (cut.size === 0) return [];
  const taken = new Map<string, number>();
  for (const root of cut) {
    for await (const { kind, type, body } of entriesOf(order, root)) {
      const isPoisoned = kind === "note" && type === "poisoned";
      if (kind !== "input" && !isPoisoned) continue;
      const from = isPoisoned
        ? Poisoned.safeParse(body).data?.input.sender
        : Taken.safeParse(body).data?.sender;
      if (from !== undefined) taken.set(`${root} ${from}`, (taken.get(`${root} ${from}`) ?? 0) + 1);
    }
  }
  const letters: LostLetter[] = [];
  for (const from of roots.keys()) {
    for await (const { kind, cause, body } of entriesOf(order, from)) {
      const sent = kind === "message" ? Sent.safeParse(body).data : undefined;
      if (sent === undefined || !cut.has(sent.to)) continue;
      const place = `${sent.to} ${from}`;
      const left = taken.get(place) ?? 0;
      taken.set(place, left - 1);
      if (left > 0) continue;
      letters.push({ key: keys.inbox(sent.to, from, cause, sent.n), value: { message: sent.message } });
    }
  }
  return letters;
}

/** Entries that were saved of a root, with the bodies of those that are messages. */
async function* entriesOf({ target, digest }: LettersOrder, root: string): AsyncIterable<Entry> {
  for await (const { key, value } of target.list({ prefix: prefixes.log(root) })) {
    const { entries } = await decodePackedValue(value, { root, first: Number(key[2]) }, digest);
    for (const entry of entries) {
      const isNeeded = entry.kind === "message" || entry.kind === "input" || entry.type === "poisoned";
      yield isNeeded ? await restoreBody(entry, { store: target, root, digest }) : entry;
    }
  }
}
