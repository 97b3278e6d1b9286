/** A unit: all that one crank wrote. Committed whole or not at all, never split over commits (K1). */
import type { Entry, RootRecord } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { StoreKey } from "./store.ts";

/** A snapshot to save with a unit, or soon after it. */
export interface SnapshotDraft {
  readonly machine: string;
  readonly code: string;
  readonly seq: number;
  readonly text: string;
  readonly status: string;
  readonly children: number;
  readonly open: readonly string[];
  /** Version of the state's form; absent for the first one. */
  readonly stateVersion?: number;
  /** Attempts of open intents beyond the first (K7). */
  readonly attempts: { readonly [id: string]: number };
}

/** Bytes of one blob, by the digest that names it. */
export interface BlobDraft {
  readonly digest: string;
  readonly bytes: Uint8Array;
}

/**
 * What one crank hands to the writer. `entries` are in order, gapless, and end up in one packed value per root and
 * group. `stateText`, if set, is hashed by the writer into `state` of the entry `stateSeq`.
 */
export interface Unit {
  readonly root: RootAddress;
  readonly entries: readonly Entry[];
  /** The persisted snapshot's canonical text, if this unit records a state hash. */
  readonly stateText?: string | undefined;
  readonly stateSeq?: number | undefined;
  readonly snapshot?: SnapshotDraft | undefined;
  readonly record?: RootRecord | undefined;
  /** Side rows of the same commit: `cmd`, `reply`, `inbox`, `open`, `due`, `question` (K13, K14, K19). */
  readonly sets: readonly { readonly key: StoreKey; readonly value: unknown }[];
  readonly deletes: readonly StoreKey[];
}
