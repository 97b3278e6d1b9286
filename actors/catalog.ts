/**
 * One agent's catalog: resolves its sources into entries, has them sealed, and tells its subscriber.
 *
 *   resolving -> sealing -> ready; resolving | sealing -> refused; ready | refused -> resolving (on catalog.change)
 *
 * Every catalog issued has a new epoch and is never changed; content equal to the one before is not issued again.
 */
import { assign, enqueueActions, setup } from "xstate";
import { CatalogRef, type CatalogSource } from "../schemas/catalog.ts";
import type { PortDone, PortFailed, PortRequestOf } from "../schemas/effect.ts";
import { type Failure, failure } from "../schemas/failure.ts";
import { limits } from "../schemas/limits.ts";
import type { CatalogMessage, Outgoing, Stamp } from "../schemas/message.ts";
import { post, replyTo } from "./outbox.ts";
import { port } from "./port.ts";
import { type Resolution, resolveCatalog, type ResolveRequest } from "./resolve.ts";

/** What a catalog is created with. */
export interface CatalogInput extends Omit<ResolveRequest, "epoch"> {
  readonly address: string;
  /** The root that is told of every catalog: its session. */
  readonly subscriber: string;
}

/** What a catalog is told. */
export type CatalogEvent = CatalogMessage & Stamp;

/** What a catalog remembers. `sources` are those of the catalog at hand: the one issued, being sealed, or refused. */
export interface CatalogContext extends CatalogInput {
  readonly epoch: number;
  /** Sources that arrived while the ones at hand are being sealed. */
  readonly waiting: readonly CatalogSource[] | null;
}

/** Most dropped tools that one note names. */
const droppedNotedMax = 100;

/** Resolving is pure and a context never changes, so one context is resolved once. */
const resolutions = new WeakMap<CatalogContext, Resolution>();

function resolutionOf(context: CatalogContext): Resolution {
  const known = resolutions.get(context) ?? resolveCatalog(context);
  resolutions.set(context, known);
  return known;
}

/** True if other sources would give the very same entries. */
function givesTheSame(context: CatalogContext, sources: readonly CatalogSource[]): boolean {
  const [now, then] = [resolutionOf(context), resolveCatalog({ ...context, sources })];
  if (!("catalog" in now) || !("catalog" in then)) return false;
  return JSON.stringify(now.catalog.entries) === JSON.stringify(then.catalog.entries);
}

function sealRequest(context: CatalogContext): PortRequestOf<"catalog.seal"> {
  const resolution = resolutionOf(context);
  if (!("catalog" in resolution)) throw new Error("Cannot seal a catalog that was refused");
  return { port: "catalog.seal", effect: "idempotent", args: { catalog: resolution.catalog } };
}

/** What the seal's performer gave back; undefined if that is no reference to a catalog. */
function sealedIn(event: unknown): CatalogRef | undefined {
  return CatalogRef.safeParse((event as { readonly output: PortDone }).output.value).data;
}

/** Why sealing did not end well. */
function failureIn(event: unknown): Failure {
  return (event as { readonly error: PortFailed }).error.failure;
}

/** Why resolving gave no catalog. */
function refusedIn(context: CatalogContext): Failure {
  const resolution = resolutionOf(context);
  return "failure" in resolution ? resolution.failure : badSeal;
}

function refusal(context: CatalogContext, why: Failure): Outgoing {
  return {
    kind: "message",
    to: context.subscriber,
    message: { type: "catalog.refused", failure: { ...why } },
  };
}

const badSeal = failure("catalog_unavailable", "The catalog could not be sealed: its seal is no hash");

/** The behaviour of one catalog. Stops at 1,000 microsteps (K8). */
export const catalogMachine = setup({
  types: {
    context: {} as CatalogContext,
    events: {} as CatalogEvent,
    input: {} as CatalogInput,
    tags: "" as "rest",
  },
  actors: { port },
  guards: {
    isRefused: ({ context }) => "failure" in resolutionOf(context),
    isNothingNew: ({ context, event }) => givesTheSame(context, event.sources),
    isBadSeal: ({ event }) => sealedIn(event) === undefined,
    hasWaiting: ({ context }) => context.waiting !== null,
    hasNewsWaiting: ({ context }) => context.waiting !== null && !givesTheSame(context, context.waiting),
  },
  actions: {
    post,
    takeSources: assign(({ context, event }) => ({ sources: event.sources, epoch: context.epoch + 1 })),
    keepSources: assign(({ event }) => ({ waiting: event.sources })),
    takeWaiting: assign(({ context }) => ({
      sources: context.waiting ?? context.sources,
      epoch: context.epoch + 1,
      waiting: null,
    })),
    dropWaiting: assign({ waiting: null }),
    acknowledge: enqueueActions(({ enqueue, event }) => {
      const params = replyTo(event, "ok", { result: "accepted" });
      if (params !== undefined) enqueue({ type: "post", params });
    }),
    noteDropped: enqueueActions(({ context, enqueue }) => {
      const resolution = resolutionOf(context);
      if (!("catalog" in resolution) || resolution.dropped.length === 0) return;
      const dropped = resolution.dropped.slice(0, droppedNotedMax).map((tool) => ({ ...tool }));
      const body = { epoch: context.epoch, count: resolution.dropped.length, dropped };
      enqueue({ type: "post", params: { kind: "note", type: "catalog.tools_dropped", body } });
    }),
    issue: enqueueActions(({ context, enqueue, event }) => {
      const catalog = sealedIn(event);
      if (catalog === undefined) return;
      const message = { type: "catalog.issued", catalog };
      enqueue({ type: "post", params: { kind: "message", to: context.subscriber, message } });
    }),
  },
}).createMachine({
  id: "catalog",
  initial: "resolving",
  options: { maxIterations: limits.machineIterationsMax },
  context: ({ input }) => ({ ...input, epoch: 1, waiting: null }),
  states: {
    resolving: {
      always: [
        {
          guard: "isRefused",
          target: "refused",
          actions: { type: "post", params: ({ context }) => refusal(context, refusedIn(context)) },
        },
        { target: "sealing", actions: "noteDropped" },
      ],
    },
    sealing: {
      invoke: {
        id: "seal",
        src: "port",
        input: ({ context }) => sealRequest(context),
        onDone: [
          {
            guard: "isBadSeal",
            target: "refused",
            actions: { type: "post", params: ({ context }) => refusal(context, badSeal) },
          },
          { target: "ready", actions: "issue" },
        ],
        onError: {
          target: "refused",
          actions: { type: "post", params: ({ context, event }) => refusal(context, failureIn(event)) },
        },
      },
      on: { "catalog.change": { actions: ["acknowledge", "keepSources"] } },
    },
    ready: {
      tags: "rest",
      always: [
        { guard: "hasNewsWaiting", target: "resolving", actions: "takeWaiting" },
        { guard: "hasWaiting", actions: "dropWaiting" },
      ],
      on: {
        "catalog.change": [
          { guard: "isNothingNew", actions: "acknowledge" },
          { target: "resolving", actions: ["acknowledge", "takeSources"] },
        ],
      },
    },
    refused: {
      tags: "rest",
      always: { guard: "hasWaiting", target: "resolving", actions: "takeWaiting" },
      on: { "catalog.change": { target: "resolving", actions: ["acknowledge", "takeSources"] } },
    },
  },
});
