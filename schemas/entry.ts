/** One line of the journal (K1), and the state of a root that is kept beside it. */
import { z } from "zod";
import { ForkOrigin } from "./fork.ts";
import { Digest, IntentId, RootAddress, RootKind } from "./ids.ts";
import { Json } from "./json.ts";
import { CommandRef } from "./message.ts";
import { Labels, SpawnName } from "./spawned.ts";
import { TraceId } from "./trace.ts";

/** Version of the entry format that this release writes. */
export const entryVersion = 1;

/** The kinds of entries. The first three begin a crank. */
export const EntryKind = z.enum([
  "created",
  "input",
  "outcome",
  "intent",
  "message",
  "reply",
  "note",
  "checkpoint",
]);
/** A kind of entry. */
export type EntryKind = z.infer<typeof EntryKind>;

/** A body that is kept as a blob because it is over 4 KiB (K18). */
export const BlobRef = z.strictObject({ digest: Digest, bytes: z.int().min(0) });
/** A body that is kept as a blob. */
export type BlobRef = z.infer<typeof BlobRef>;

/**
 * One entry. `seq` is gapless from 1 in its stream; `at` in milliseconds since the epoch; `cause` is the `seq` that
 * began the crank; `epoch` is the runtime that wrote it; `state`, where it stands, hashes the root's persisted
 * snapshot after the crank (K25). Loose: an extra field of a later minor release is kept (B128).
 */
export const Entry = z.looseObject({
  v: z.literal(entryVersion),
  seq: z.int().min(1),
  at: z.number(),
  kind: EntryKind,
  type: z.string().min(1).max(100),
  cause: z.int().min(1),
  epoch: z.int().min(1),
  body: Json.optional(),
  blob: BlobRef.optional(),
  state: Digest.optional(),
});
/** One entry of the journal. */
export interface Entry {
  readonly v: 1;
  readonly seq: number;
  readonly at: number;
  readonly kind: EntryKind;
  readonly type: string;
  readonly cause: number;
  readonly epoch: number;
  readonly body?: Json | undefined;
  readonly blob?: BlobRef | undefined;
  readonly state?: string | undefined;
}

/** Body of `created`. */
export const CreatedBody = z.strictObject({ machine: RootKind, code: Digest, input: Json });
/** Body of `created`. */
export type CreatedBody = z.infer<typeof CreatedBody>;

/** Body of `input`: the message, and who sent it. */
export const InputBody = z.strictObject({
  message: z.looseObject({ type: z.string() }),
  command: CommandRef.optional(),
  sender: RootAddress.optional(),
  /** The trace that it belongs to, if who gave the command named one. No machine sees it. */
  trace: TraceId.exactOptional(),
});
/** Body of `input`. */
export interface InputBody {
  readonly message: { readonly type: string } & Record<string, Json>;
  readonly command?: CommandRef | undefined;
  readonly sender?: RootAddress | undefined;
  readonly trace?: TraceId;
}

/** Body of `checkpoint`: truth, not cache (K21). */
export const CheckpointBody = z.strictObject({
  machine: RootKind,
  code: Digest,
  state: Json,
  open: z.array(IntentId),
  /** Version of the state's form; absent for the first one. */
  stateVersion: z.int().min(2).exactOptional(),
  /** Set where a fork begins: the entries before are those of its origin (K24). */
  origin: ForkOrigin.exactOptional(),
});
/** Body of `checkpoint`. */
export type CheckpointBody = z.infer<typeof CheckpointBody>;

/** What the store keeps of a root beside its stream: for lists, and for recovery. */
export const RootRecord = z.strictObject({
  v: z.literal(1),
  address: RootAddress,
  kind: RootKind,
  createdAt: z.number(),
  /** `quarantined` roots take no messages until an operator looks at them. */
  status: z.enum(["active", "quarantined"]),
  reason: z.string().max(2_000).optional(),
  title: z.string().max(200),
  /** The task of a child agent's session: only that may tell it anything, and it is told if the session is lost. */
  parent: RootAddress.exactOptional(),
  /** Its stream lost its end in a salvage: what it did after `seq`, up to `lost`, is not known any more. */
  cut: z.strictObject({ seq: z.int().min(1), lost: z.int().min(1), epoch: z.int().min(0) }).exactOptional(),
  /** Set for a fork: where its entries come from. */
  origin: ForkOrigin.exactOptional(),
  /** Of a session that a program or a person began by the API: who that was. Without it, it is the operator's. */
  owner: z.string().max(100).exactOptional(),
  /** What its owner calls it: finds it again (`spawn` with the same name gets it). */
  name: SpawnName.exactOptional(),
  labels: Labels.exactOptional(),
});
/** What the store keeps of a root beside its stream. */
export type RootRecord = z.infer<typeof RootRecord>;

/** Head of a stream: where the next entry goes, and the hash it hangs on. */
export const StreamHead = z.strictObject({ seq: z.int().min(0), hash: Digest });
/** Head of a stream. */
export type StreamHead = z.infer<typeof StreamHead>;

/** A root's saved state: a cache, dropped if it does not fit (K20). */
export const SnapshotRecord = z.strictObject({
  v: z.literal(1),
  machine: RootKind,
  code: Digest,
  seq: z.int().min(1),
  hash: Digest,
  chunks: z.int().min(0),
  /** The persisted snapshot as JSON text; empty if it is in chunks. */
  text: z.string(),
  status: z.string(),
  children: z.int().min(0),
  open: z.array(IntentId),
  /** Version of the state's form; absent for the first one. */
  stateVersion: z.int().min(2).exactOptional(),
  /** Attempts of open intents beyond the first (K7). */
  attempts: z.record(IntentId, z.int().min(1)).default({}),
});
/** A root's saved state. */
export type SnapshotRecord = z.infer<typeof SnapshotRecord>;
