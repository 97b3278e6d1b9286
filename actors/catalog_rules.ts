/** The pure rules that the catalog machine consults: what it is made from, what is news, what is said to whom. */
import { CatalogRef, type CatalogSource } from "../schemas/catalog.ts";
import type { PortDone, PortFailed, PortRequestOf } from "../schemas/effect.ts";
import { type Failure, failure } from "../schemas/failure.ts";
import type { RootAddress } from "../schemas/ids.ts";
import type { Outgoing } from "../schemas/message.ts";
import type { CatalogContext, CatalogEvent, CatalogParts, ServerOffer } from "./catalog.ts";
import { changeNote } from "./catalog_change.ts";
import { catalogOf, offerOf, sourcesOf } from "./library.ts";
import { type Resolution, resolveCatalog } from "./resolve.ts";

type EventOf<T extends CatalogEvent["type"]> = Extract<CatalogEvent, { readonly type: T }>;

function expect<T extends CatalogEvent["type"]>(event: CatalogEvent, type: T): EventOf<T> {
  if (event.type !== type) throw new Error(`Cannot treat "${event.type}" as "${type}"`);
  return event as EventOf<T>;
}

/** Most dropped tools that one note names. */
const droppedNotedMax = 100;

/** Resolving is pure and a context never changes, so one context is resolved once. */
const resolutions = new WeakMap<CatalogContext, Resolution>();

/** What the parts at hand give. */
export function resolutionOf(context: CatalogContext): Resolution {
  const known = resolutions.get(context) ?? resolve(context, context);
  resolutions.set(context, known);
  return known;
}

function resolve(context: CatalogContext, parts: CatalogParts): Resolution {
  return resolveCatalog({ ...context, sources: allSources(parts) });
}

/** Everything that a catalog is made from: what it shares, its own, what servers offer. */
export function allSources({ sources, offers, shared = null }: CatalogParts): readonly CatalogSource[] {
  const before = shared === null ? [] : sourcesOf(shared);
  // Without them another catalog would come of it than the journal says.
  if (before === undefined) throw new Error(`Cannot resolve a catalog: the blob ${shared} is not there`);
  const offered = offers.flatMap(({ offer }): CatalogSource[] => {
    const source = offer === null ? undefined : offerOf(offer);
    return source === undefined ? [] : [source];
  });
  return [...before, ...sources, ...offered];
}

/**
 * True if the parts that arrived would give the very entries that were issued last. Most renewals bring what was there:
 * then what goes into a catalog is compared, by the hashes of the offers, and none is made (the agent, the policy and the
 * scope of a catalog never change).
 */
export function isNothingNew(context: CatalogContext): boolean {
  if (context.waiting === null) return true;
  if (context.issued !== null && isSameInput(context, context.waiting)) return true;
  const [now, then] = [resolutionOf(context), resolve(context, context.waiting)];
  if (!("catalog" in now) || !("catalog" in then)) return false;
  return now.catalog.preparedBy === then.catalog.preparedBy &&
    JSON.stringify(now.catalog.entries) === JSON.stringify(then.catalog.entries);
}

function isSameInput(now: CatalogParts, then: CatalogParts): boolean {
  const offered = ({ offers }: CatalogParts) => offers.flatMap(({ offer }) => offer ?? []).join(" ");
  if (offered(now) !== offered(then) || (now.shared ?? null) !== (then.shared ?? null)) return false;
  return now.sources === then.sources || JSON.stringify(now.sources) === JSON.stringify(then.sources);
}

/** The parts as they will be: those that wait, or else those at hand. */
export function partsOf({ sources, offers, shared, waiting }: CatalogContext): CatalogParts {
  return waiting ?? { sources, offers, ...(shared === undefined ? {} : { shared }) };
}

/** Other static sources arrived: all of them, so that none is shared any more. */
export function withSources(context: CatalogContext, event: CatalogEvent): CatalogParts {
  const { sources } = expect(event, "catalog.change");
  const parts = partsOf(context);
  return { ...parts, sources, ...(parts.shared === undefined ? {} : { shared: null }) };
}

/** True if the sender is one of the servers that were asked for. */
export function isExpected(context: CatalogContext, { sender }: CatalogEvent): boolean {
  return context.servers.some(({ connection }) => connection === sender);
}

/** An offer takes the place of the one that its server made before; the order is that of the servers. */
export function withOffer(
  context: CatalogContext,
  event: CatalogEvent,
): Pick<CatalogContext, "waiting" | "pending"> {
  const { report, offer, sender = "" } = expect(event, "connection.offered");
  const parts = partsOf(context);
  const fresh: ServerOffer = { connection: sender, report, offer };
  const byConnection = new Map([...parts.offers, fresh].map((one) => [one.connection, one]));
  const inOrder = context.servers.flatMap(({ connection }) => byConnection.get(connection) ?? []);
  return {
    waiting: { ...parts, offers: inOrder },
    pending: context.pending.filter((connection) => connection !== sender),
  };
}

/** A renewal that was asked for. It waits while a catalog is being sealed. */
export function renewalIn(event: CatalogEvent): Pick<CatalogContext, "asked"> {
  const { renewal, servers } = expect(event, "catalog.renew");
  return { asked: { renewal, servers } };
}

/** Begins a renewal: every server is asked, and what others offered is forgotten. */
export function beginRenewal(
  context: CatalogContext,
): Pick<CatalogContext, "asked" | "renewal" | "servers" | "pending" | "waiting"> {
  const { renewal, servers } = context.asked ?? { renewal: 0, servers: [] };
  const parts = partsOf(context);
  const known = new Set(servers.map(({ connection }) => connection));
  return {
    asked: null,
    renewal,
    servers,
    pending: [...known],
    waiting: { ...parts, offers: parts.offers.filter(({ connection }) => known.has(connection)) },
  };
}

/** Tells the subscriber that what a server offered does not count any more. */
export function stale({ subscriber, servers }: CatalogContext, event: CatalogEvent): readonly Outgoing[] {
  const { sender, rule } = expect(event, "connection.stale");
  return servers.filter(({ connection }) => connection === sender).map(({ server }) => ({
    kind: "message",
    to: subscriber,
    message: { type: "catalog.stale", server, rule },
  }));
}

/** Asks a connection to open. */
export function openConnection(connection: RootAddress): Outgoing {
  return { kind: "message", to: connection, message: { type: "connection.open" } };
}

/** What is sealed. */
export function sealRequest(context: CatalogContext): PortRequestOf<"catalog.seal"> {
  const resolution = resolutionOf(context);
  if (!("catalog" in resolution)) throw new Error("Cannot seal a catalog that was refused");
  return { port: "catalog.seal", effect: "idempotent", args: { catalog: resolution.catalog } };
}

/** What the seal's performer gave back; undefined if that is no reference to a catalog. */
export function sealedIn(event: unknown): CatalogRef | undefined {
  return CatalogRef.safeParse((event as { readonly output: PortDone }).output.value).data;
}

/** Why sealing did not end well. */
export function failureIn(event: unknown): Failure {
  return (event as { readonly error: PortFailed }).error.failure;
}

/** Tells the subscriber of the catalog that holds from now on. */
export function issued(context: CatalogContext, catalog: CatalogRef): Outgoing {
  const servers = context.offers.map(({ report }) => ({ ...report }));
  const message = { type: "catalog.issued", catalog, renewal: context.renewal, servers };
  return { kind: "message", to: context.subscriber, message: message as never };
}

/** What the session's tools are that were not before, and the other way round; undefined if nothing changed. */
export function changedSince(context: CatalogContext, issued: CatalogRef): Outgoing | undefined {
  const last = context.last ?? context.issued;
  const after = catalogOf(issued.hash);
  if (after === undefined) return undefined;
  return changeNote(issued.epoch, last === null ? undefined : catalogOf(last.hash), after);
}

/** Tells the subscriber that there is no catalog, and why. */
export function refused(context: CatalogContext, why: Failure): Outgoing {
  const message = { type: "catalog.refused", failure: { ...why }, renewal: context.renewal };
  return { kind: "message", to: context.subscriber, message };
}

/** Why resolving gave no catalog. */
export function refusalOf(context: CatalogContext): Failure {
  const resolution = resolutionOf(context);
  return "failure" in resolution ? resolution.failure : badSeal;
}

/** Why a seal is none. */
export const badSeal = failure("catalog_unavailable", "The catalog could not be sealed: its seal is no hash");

/** Names the tools that were left out; undefined if there are none. */
export function droppedNote(context: CatalogContext): Outgoing | undefined {
  const resolution = resolutionOf(context);
  if (!("catalog" in resolution) || resolution.dropped.length === 0) return undefined;
  const dropped = resolution.dropped.slice(0, droppedNotedMax).map((tool) => ({ ...tool }));
  const body = { epoch: context.epoch, count: resolution.dropped.length, dropped };
  return { kind: "note", type: "catalog.tools_dropped", body };
}
