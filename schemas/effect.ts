/** What machines may ask of the world, and what comes back: the requests and outcomes of the one port. */
import { z } from "zod";
import { CatalogRef, EntryRef, ResolvedCatalog } from "./catalog.ts";
import { Failure } from "./failure.ts";
import { IntentId, RootAddress } from "./ids.ts";
import { RequestOrigin } from "./invocation.ts";
import { Json, JsonObject } from "./json.ts";
import { HistoryItem, ToolChoice } from "./model.ts";
import { QuestionSubject } from "./question.ts";
import { EffectClass, Mechanism } from "./tool.ts";

/** The kinds of effects, one performer each. */
export const PortKind = z.enum([
  "model.generate",
  "tool.call",
  "tool.verify",
  "question.ask",
  "timer.set",
  "catalog.seal",
  "child.start",
  "child.stop",
]);
/** A kind of effect. */
export type PortKind = z.infer<typeof PortKind>;

const generateArgs = z.strictObject({
  model: z.string().max(200),
  turn: z.int().min(1),
  step: z.int().min(0),
  catalog: CatalogRef,
  /** What this step adds to the conversation; the rest is in the journal already. */
  append: z.array(HistoryItem),
  toolChoice: ToolChoice,
  maxOutputTokens: z.int().min(1),
});

const toolArgs = z.strictObject({
  invocation: z.string().max(128),
  entry: EntryRef,
  arguments: JsonObject,
  origin: RequestOrigin,
  attempt: z.int().min(1),
  /** The idempotency key of the first attempt, for later ones; absent on the first, whose own id it is. */
  key: IntentId.optional(),
});

/** Arguments of each kind of effect. */
export const portArgs = {
  "model.generate": generateArgs,
  "tool.call": toolArgs,
  "tool.verify": toolArgs,
  "question.ask": z.strictObject({ subject: QuestionSubject }),
  "timer.set": z.strictObject({
    dueAtMs: z.number(),
    /** Up to this much is added by the performer, so that many timers do not fire as one. Milliseconds. */
    jitterMs: z.number().min(0),
    label: z.string().max(100),
  }),
  "catalog.seal": z.strictObject({ catalog: ResolvedCatalog }),
  "child.start": z.strictObject({ child: RootAddress, mode: z.enum(["resume", "clean"]) }),
  "child.stop": z.strictObject({ child: RootAddress, graceMs: z.int().min(0), quarantine: z.boolean() }),
} as const satisfies { readonly [K in PortKind]: z.ZodType };

/** Arguments of one kind of effect. */
export type PortArgs<K extends PortKind> = z.infer<(typeof portArgs)[K]>;

/** One request to the world: the input of a port, and the body of an `intent`. */
export type PortRequest = {
  readonly [K in PortKind]: {
    readonly port: K;
    readonly effect: EffectClass;
    readonly mechanism?: Mechanism | undefined;
    readonly args: PortArgs<K>;
    /** When the performer gives up, in milliseconds since the epoch (K11). */
    readonly deadlineAtMs?: number | undefined;
  };
}[PortKind];

/** A request of one kind. */
export type PortRequestOf<K extends PortKind> = Extract<PortRequest, { readonly port: K }>;

/** How an effect that did not end well ended. `unknown` means that it may have happened. */
export const PortFailureStatus = z.enum(["failed", "timed_out", "canceled", "unknown"]);

/** The body of an `outcome` entry. */
export const PortOutcome = z.strictObject({
  id: IntentId,
  attempt: z.int().min(1),
  status: z.enum(["ok", ...PortFailureStatus.options]),
  value: Json.optional(),
  failure: Failure.optional(),
});
/** The body of an `outcome` entry. */
export type PortOutcome = z.infer<typeof PortOutcome>;

/** What a machine's `onDone` gets from a port: `event.output`. The kernel adds `at` and `intent` (K7). */
export interface PortDone {
  readonly value: Json;
  readonly at: number;
  readonly intent: IntentId;
}

/** What a machine's `onError` gets from a port: `event.error`. */
export interface PortFailed {
  readonly status: z.infer<typeof PortFailureStatus>;
  readonly failure: Failure;
  readonly at: number;
  readonly intent: IntentId;
}
