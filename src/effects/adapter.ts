/** How the tools of one kind are reached: what an adapter is given, and how an attempt comes back. */
import type { CallPause, CallRound, CallTask } from "../../schemas/call_pause.ts";
import type { CatalogEntry } from "../../schemas/catalog.ts";
import type { Failure } from "../../schemas/failure.ts";
import type { IntentId, RootAddress } from "../../schemas/ids.ts";
import type { RequestOrigin } from "../../schemas/invocation.ts";
import type { Json, JsonObject } from "../../schemas/json.ts";
import type { ToolUseContext } from "../tools/tool.ts";

/** What an adapter is given: an entry that belongs to its catalog, and arguments that nobody can change. */
export interface Routed {
  /** The session that calls. */
  readonly root: RootAddress;
  /** How its machine names the call. */
  readonly ordinal: string;
  readonly entry: CatalogEntry;
  readonly arguments: JsonObject;
  readonly use: ToolUseContext;
  /** The first intent of the call: what all its attempts are known by. */
  readonly intent: IntentId;
  /** The intent of this attempt. */
  readonly attempt: IntentId;
  readonly origin: RequestOrigin;
  /** Set from the second round of a call on: its server wanted something first. */
  readonly round?: CallRound | undefined;
  /**
   * To be called right before anything may be applied: what ends before that certainly did nothing. What it returns
   * takes it back, once it is certain that nothing was.
   */
  readonly begin: () => () => void;
  /** Of a call that is looked after: its task, when nobody wants it any more, and until when it may take. */
  readonly task?: {
    readonly handle: CallTask;
    readonly signal: AbortSignal;
    readonly deadlineAtMs: number;
  };
  /** Writes a note into the session's stream, for people and audits. */
  readonly note: (type: string, body: Json) => void;
  /** Takes what comes after the attempt was given up, or once more: evidence, and nothing else (K12). */
  readonly late: (attempt: Attempt) => void;
}

/** Where a call comes from. */
export type CallOrigin = Pick<
  Routed,
  "root" | "note" | "ordinal" | "intent" | "attempt" | "origin" | "round"
>;

/**
 * How an attempt came back. `lost` means that it may have been applied (R3), `paused` that the call has not ended: its
 * server wants something first.
 */
export type Attempt =
  | { readonly kind: "returned"; readonly envelope: unknown }
  | { readonly kind: "not_started"; readonly failure: Failure }
  | { readonly kind: "lost"; readonly failure: Failure }
  | { readonly kind: "paused"; readonly pause: CallPause };

/** Reaches the tools of one kind. */
export type Adapter = (routed: Routed) => Promise<Attempt>;
