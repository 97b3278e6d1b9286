/**
 * One agent's catalog: resolves its sources into entries, has them sealed, and tells its subscriber.
 *
 *   resolving -> sealing -> ready; resolving | sealing -> refused; ready | refused -> resolving (other sources)
 *   ready | refused -> gathering (catalog.renew) -> resolving, or ready again if nothing is new
 *
 * Every catalog issued has a new epoch and is never changed; content equal to the one before is not sealed again.
 */
import { assign, enqueueActions, setup } from "xstate";
import type { CatalogRef, CatalogSource } from "../schemas/catalog.ts";
import type { Failure } from "../schemas/failure.ts";
import type { Digest, RootAddress, ServerId } from "../schemas/ids.ts";
import { limits } from "../schemas/limits.ts";
import type { CatalogMessage, ServerReport, Stamp } from "../schemas/message.ts";
import * as lost from "./catalog_lost.ts";
import * as rules from "./catalog_rules.ts";
import { post, replyTo } from "./outbox.ts";
import { port } from "./port.ts";
import type { ResolveRequest } from "./resolve.ts";

/** What a catalog is created with. */
export interface CatalogInput extends Omit<ResolveRequest, "epoch"> {
  readonly address: string;
  /** The root that is told of every catalog: its session. */
  readonly subscriber: string;
  /** The hash of sources in the library that come before its own; absent if there are none. */
  readonly shared?: Digest | null;
}

/** What a catalog is told. */
export type CatalogEvent = CatalogMessage & Stamp;

/** What one connection said last. `offer` is the hash of a source in the library. */
export interface ServerOffer {
  readonly connection: RootAddress;
  readonly report: ServerReport;
  readonly offer: Digest | null;
}

/** What a catalog is made from. */
export interface CatalogParts {
  readonly sources: readonly CatalogSource[];
  readonly offers: readonly ServerOffer[];
  /** Null since other sources took the place of those that are shared. */
  readonly shared?: Digest | null;
}

/** A renewal that was asked for. */
export interface Renewal {
  readonly renewal: number;
  readonly servers: readonly { readonly server: ServerId; readonly connection: RootAddress }[];
}

/** A server whose connection is out of service: nothing is asked of it any more. */
export interface LostServer {
  readonly connection: RootAddress;
  readonly failure: Failure;
  /** The runtime that keeps away from it; null if all do. */
  readonly epoch: number | null;
}

/** What a catalog remembers. `sources` and `offers` are those of the catalog at hand: issued, being sealed, or refused. */
export interface CatalogContext extends CatalogInput, CatalogParts {
  readonly epoch: number;
  /** Parts that arrived since. */
  readonly waiting: CatalogParts | null;
  /** The catalog that was issued last, unless one was refused since. */
  readonly issued: CatalogRef | null;
  /** The catalog that was issued last, whatever was refused since; contexts of earlier releases have none. */
  readonly last?: CatalogRef | null;
  readonly servers: Renewal["servers"];
  /** Connections that have not answered yet. */
  readonly pending: readonly RootAddress[];
  readonly asked: Renewal | null;
  /** Contexts of earlier releases have none. */
  readonly lost?: readonly LostServer[];
  /** The renewal that the next answer is for; 0 if nobody asked. */
  readonly renewal: number;
}

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
    isRefused: ({ context }) => "failure" in rules.resolutionOf(context),
    isNothingNew: ({ context }) => rules.isNothingNew(context),
    isBadSeal: ({ event }) => rules.sealedIn(event) === undefined,
    hasWaiting: ({ context }) => context.waiting !== null,
    hasNewsWaiting: ({ context }) => context.waiting !== null && !rules.isNothingNew(context),
    isAsked: ({ context }) => context.asked !== null,
    isExpected: ({ context, event }) => rules.isExpected(context, event),
    isOfServer: ({ context, event }) => lost.isOfServer(context, event),
    isGathered: ({ context }) => context.pending.length === 0,
    isConfirmed: ({ context }) =>
      context.pending.length === 0 && context.issued !== null && rules.isNothingNew(context),
  },
  actions: {
    post,
    keepSources: assign(({ context, event }) => ({ waiting: rules.withSources(context, event) })),
    keepOffer: assign(({ context, event }) => rules.withOffer(context, event)),
    tellStale: enqueueActions(({ context, enqueue, event }) => {
      for (const params of rules.stale(context, event)) enqueue({ type: "post", params });
    }),
    resume: enqueueActions(({ context, enqueue, event }) => {
      for (const params of lost.resume(context, event)) enqueue({ type: "post", params });
    }),
    keepLost: assign(({ context, event }) => lost.withLost(context, event)),
    keepRenewal: assign(({ event }) => rules.renewalIn(event)),
    takeWaiting: assign(({ context }) => ({
      ...(context.waiting ?? {}),
      epoch: context.epoch + 1,
      waiting: null,
    })),
    // Nothing new for a model, but reports and the hashes of offers may differ.
    absorbWaiting: assign(({ context }) => ({ ...(context.waiting ?? {}), waiting: null })),
    acknowledge: enqueueActions(({ enqueue, event }) => {
      const params = replyTo(event, "ok", { result: "accepted" });
      if (params !== undefined) enqueue({ type: "post", params });
    }),
    beginRenewal: enqueueActions(({ context, enqueue, event }) => {
      const begun = lost.withoutLost(context, rules.beginRenewal(context), event);
      enqueue.assign(begun);
      for (const connection of begun.pending) {
        enqueue({ type: "post", params: rules.openConnection(connection) });
      }
    }),
    noteDropped: enqueueActions(({ context, enqueue }) => {
      const params = rules.droppedNote(context);
      if (params !== undefined) enqueue({ type: "post", params });
    }),
    issue: enqueueActions(({ context, enqueue, event }) => {
      const catalog = rules.sealedIn(event);
      if (catalog === undefined) return;
      const change = rules.changedSince(context, catalog);
      if (change !== undefined) enqueue({ type: "post", params: change });
      enqueue({ type: "post", params: rules.issued(context, catalog) });
      enqueue.assign({ issued: catalog, last: catalog, renewal: 0 });
    }),
    confirm: enqueueActions(({ context, enqueue }) => {
      if (context.issued === null) return;
      enqueue({ type: "post", params: rules.issued(context, context.issued) });
      enqueue.assign({ renewal: 0 });
    }),
    // What is at hand was not issued, so no renewal may be answered with what was issued before.
    endRenewal: assign({ issued: null, renewal: 0 }),
  },
}).createMachine({
  id: "catalog",
  initial: "resolving",
  options: { maxIterations: limits.machineIterationsMax },
  context: ({ input }) => ({
    ...input,
    offers: [],
    epoch: 1,
    waiting: null,
    issued: null,
    servers: [],
    pending: [],
    asked: null,
    renewal: 0,
  }),
  on: {
    "catalog.change": { actions: ["acknowledge", "keepSources"] },
    "catalog.renew": { actions: "keepRenewal" },
    "connection.offered": { guard: "isExpected", actions: "keepOffer" },
    "connection.stale": { guard: "isExpected", actions: "tellStale" },
    "child.restarted": { guard: "isOfServer", actions: "resume" },
    "child.quarantined": { guard: "isOfServer", actions: "keepLost" },
  },
  states: {
    resolving: {
      always: [
        {
          guard: "isRefused",
          target: "refused",
          actions: [
            { type: "post", params: ({ context }) => rules.refused(context, rules.refusalOf(context)) },
            "endRenewal",
          ],
        },
        { target: "sealing", actions: "noteDropped" },
      ],
    },
    sealing: {
      invoke: {
        id: "seal",
        src: "port",
        input: ({ context }) => rules.sealRequest(context),
        onDone: [
          {
            guard: "isBadSeal",
            target: "refused",
            actions: [
              { type: "post", params: ({ context }) => rules.refused(context, rules.badSeal) },
              "endRenewal",
            ],
          },
          { target: "ready", actions: "issue" },
        ],
        onError: {
          target: "refused",
          actions: [
            { type: "post", params: ({ context, event }) => rules.refused(context, rules.failureIn(event)) },
            "endRenewal",
          ],
        },
      },
    },
    gathering: {
      entry: "beginRenewal",
      always: [
        { guard: "isConfirmed", target: "ready", actions: ["absorbWaiting", "confirm"] },
        { guard: "isGathered", target: "resolving", actions: "takeWaiting" },
      ],
    },
    ready: {
      tags: "rest",
      always: [
        { guard: "isAsked", target: "gathering" },
        { guard: "hasNewsWaiting", target: "resolving", actions: "takeWaiting" },
        { guard: "hasWaiting", actions: "absorbWaiting" },
      ],
    },
    refused: {
      tags: "rest",
      always: [
        { guard: "isAsked", target: "gathering" },
        { guard: "hasWaiting", target: "resolving", actions: "takeWaiting" },
      ],
    },
  },
});
