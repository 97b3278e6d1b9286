/** What runs have met: kinds of entries, of decisions, of ends and of trouble, by name. Counted over many seeds. */
import type { Entry } from "../../schemas/entry.ts";

interface Told {
  readonly status?: string;
  readonly effect?: string;
  readonly stages?: readonly { readonly dispatch: string }[];
  readonly shared?: true;
  readonly value?: { readonly decision?: string; readonly result?: string; readonly scope?: string } | null;
  readonly failure?: { readonly code?: string };
}

/** The names of an entry: kind, type, and the status, effect class or way of dispatch; what was decided, and how it failed. */
export function namesOf({ kind, type, body }: Entry): string[] {
  const { status, effect, stages, shared, value, failure } = (body ?? {}) as Told;
  const kinds = stages?.map(({ dispatch }) => dispatch) ??
    [status ?? effect ?? (shared === true ? "shared" : "")];
  return [
    ...kinds.map((one) => `${kind} ${type} ${one}`.trimEnd()),
    ...(kind === "outcome" && typeof value?.decision === "string" ? [`decision ${value.decision}`] : []),
    ...(kind === "reply" && typeof value?.scope === "string"
      ? [`cancel ${value.scope} ${value.result}`]
      : []),
    ...(kind === "outcome" && typeof failure?.code === "string" ? [`failure ${failure.code}`] : []),
  ];
}

/** How many runs met what. */
export class Census {
  readonly counts = new Map<string, number>();

  add(seen: Iterable<string>): void {
    for (const name of seen) this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }

  merge(counts: Iterable<readonly [string, number]>): void {
    for (const [name, count] of counts) this.counts.set(name, (this.counts.get(name) ?? 0) + count);
  }

  /** Which of these names nobody met. */
  missing(names: readonly string[]): string[] {
    return names.filter((name) => !this.counts.has(name));
  }
}
