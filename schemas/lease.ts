/** Who may write a root, where several runtimes share one store: its owner, and the lease by which it is left to it (K17). */
import { z } from "zod";

const epoch = z.number().int().positive();
const runtime = z.string().min(1).max(64);

/** The row `owner/<root>`: checked in every commit that writes the root, changed by a take-over alone. */
export const Owner = z.looseObject({ epoch, runtime });
/** The owner of a root. */
export type Owner = z.infer<typeof Owner>;

/** The row `lease/<root>`: until when its owner is left alone (CM-120). Never checked by what the owner writes. */
export const Lease = z.looseObject({
  runtime,
  epoch,
  /** Counts the heartbeats of a runtime: with runtime and epoch the id of the report that wrote this (CM-121). */
  beat: z.number().int().nonnegative(),
  /** In milliseconds since the epoch, by the holder's clock. */
  until: z.number(),
  timeoutMs: z.number().int().positive(),
  /** The holder in words, for people. */
  holder: z.string().max(200).default(""),
});
/** The lease of a root. */
export type Lease = z.infer<typeof Lease>;

/** One heartbeat for one root. */
export type Beat = Pick<Lease, "runtime" | "epoch" | "beat">;

/**
 * What a heartbeat is to what stands in the store: it renews; it is a repeat of the one that was heard last; or it is
 * stale, and changes nothing (CM-120, CM-121).
 */
export function judgeBeat(
  { runtime, epoch, beat }: Beat,
  stored: { readonly owner: Owner | undefined; readonly lease: Lease | undefined },
): "renews" | "repeats" | "stale" {
  const { owner, lease } = stored;
  if (owner === undefined || owner.runtime !== runtime || owner.epoch !== epoch) return "stale";
  if (lease === undefined || lease.runtime !== runtime || lease.epoch !== epoch) return "renews";
  if (lease.beat === beat) return "repeats";
  return lease.beat < beat ? "renews" : "stale";
}

/** Who holds a root at this time; undefined if nobody does. A lease of an earlier owner holds nothing. */
export function holderOf(
  owner: Owner | undefined,
  lease: Lease | undefined,
  nowMs: number,
): Lease | undefined {
  if (owner === undefined || lease === undefined || lease.until <= nowMs) return undefined;
  return lease.runtime === owner.runtime && lease.epoch === owner.epoch ? lease : undefined;
}
