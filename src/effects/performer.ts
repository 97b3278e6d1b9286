/** What a performer is given and gives back: one function carries out one kind of effect. */
import type { PortKind, PortRequestOf } from "../../schemas/effect.ts";
import type { Failure } from "../../schemas/failure.ts";
import type { IntentId, RootAddress } from "../../schemas/ids.ts";
import type { Json } from "../../schemas/json.ts";
import type { ModelEvent } from "../../schemas/model.ts";
import type { ErrorProvenance } from "../../schemas/tool_error.ts";

/** What is heard of an effect while it runs. Provisional until its outcome is durable (K12). */
export type Progress =
  | { readonly type: "model"; readonly event: ModelEvent }
  | { readonly type: "tool"; readonly message: string };

/** One attempt to carry out one intent. */
export interface Performance<K extends PortKind = PortKind> {
  readonly root: RootAddress;
  readonly id: IntentId;
  /** The idempotency key passed downstream: stable over attempts once it is durable (K3). */
  readonly key: string;
  readonly attempt: number;
  readonly request: PortRequestOf<K>;
  /** Aborts when the machine cancels or the runtime stops. */
  readonly signal: AbortSignal;
  readonly report: (progress: Progress) => void;
  /** Says, in words, what the effect waits for itself, whenever somebody looks; undefined once it waits no more. */
  readonly standing?: (words: (() => string) | undefined) => void;
  /** Takes what comes after the result: it is kept as evidence and changes nothing (K12). */
  readonly late?: (result: PerformerResult) => void;
  /** Writes a note into the root's stream, unless nobody waits for this effect any more. No machine hears of it. */
  readonly note?: (type: string, body: Json) => void;
}

/** How an attempt ended. `failed` and `timed_out` only if certainly nothing was applied; otherwise `unknown` (R3). */
export type PerformerResult =
  | { readonly status: "ok"; readonly value: Json }
  | {
    readonly status: "failed" | "timed_out" | "canceled" | "unknown";
    readonly failure: Failure;
    /** Of calls of tools: whether the adapter was told to act, and who says that it went wrong (DM-45). */
    readonly started?: boolean;
    readonly provenance?: ErrorProvenance;
  };

/**
 * Carries out one attempt. May run more than once for one intent; passes the key on; stops soon after `signal` aborts;
 * keeps the deadline of the request; returns failures as data and throws only on a fault.
 */
export type Performer<K extends PortKind = PortKind> = (
  performance: Performance<K>,
) => Promise<PerformerResult>;

/** One performer for every kind of effect: leave one out and this does not compile. */
export type Performers = { readonly [K in PortKind]: Performer<K> };
