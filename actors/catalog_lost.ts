/** What a catalog does when the connection to a server crashed and goes on, or is out of service: of that server alone. */
import type { Outgoing } from "../schemas/message.ts";
import type { CatalogContext, CatalogEvent, LostServer } from "./catalog.ts";
import { openConnection, partsOf } from "./catalog_rules.ts";

/** What a renewal begins with. */
type Begun = Pick<CatalogContext, "asked" | "renewal" | "servers" | "pending" | "waiting">;

/** True if the news is of a server of this catalog. */
export function isOfServer({ servers }: CatalogContext, event: CatalogEvent): boolean {
  return "child" in event && servers.some(({ connection }) => connection === event.child);
}

/**
 * The connection goes on. The message that broke it is set aside, and it may have been ours: what is still waited for is
 * asked again. Otherwise what it offered does not count any more, and is asked for before the next turn.
 */
export function resume(context: CatalogContext, event: CatalogEvent): readonly Outgoing[] {
  if (event.type !== "child.restarted") return [];
  if (context.pending.includes(event.child)) return [openConnection(event.child)];
  const { subscriber, servers } = context;
  return servers.filter(({ connection }) => connection === event.child).map(({ server }) => ({
    kind: "message",
    to: subscriber,
    message: { type: "catalog.stale", server, rule: "disconnect" },
  }));
}

/** The connection is out of service: its server has nothing to offer, and nobody waits for it. */
export function withLost(
  context: CatalogContext,
  event: CatalogEvent,
): Pick<CatalogContext, "lost" | "waiting" | "pending"> {
  const { lost = [], pending, waiting } = context;
  if (event.type !== "child.quarantined") return { lost, pending, waiting };
  const { child, failure, lasting, epoch } = event;
  const fresh: LostServer = { connection: child, failure, epoch: lasting ? null : epoch };
  const others = lost.filter(({ connection }) => connection !== child);
  const parts = partsOf(context);
  return {
    lost: [...others, fresh],
    pending: pending.filter((connection) => connection !== child),
    waiting: { ...parts, offers: offersWith({ ...context, offers: parts.offers }, [fresh]) },
  };
}

/** A renewal waits for no server that is out of service; what became of it is known. */
export function withoutLost(context: CatalogContext, begun: Begun, event: CatalogEvent): Begun {
  const { lost = [] } = context;
  const gone = lost.filter(({ connection, epoch }) =>
    (epoch === null || epoch === epochOf(event)) && begun.pending.includes(connection)
  );
  if (gone.length === 0 || begun.waiting === null) return begun;
  const offers = offersWith({ servers: begun.servers, offers: begun.waiting.offers }, gone);
  return {
    ...begun,
    pending: begun.pending.filter((connection) => !gone.some((one) => one.connection === connection)),
    waiting: { ...begun.waiting, offers },
  };
}

/** The runtime of an event; what a port yields says it elsewhere. */
function epochOf(
  event: CatalogEvent | { readonly output?: { readonly epoch?: number } },
): number | undefined {
  if ("epoch" in event) return event.epoch;
  return "output" in event ? event.output?.epoch : undefined;
}

/** The offers in the order of the servers, with nothing from those that are gone. */
function offersWith(
  { servers, offers }: Pick<CatalogContext, "servers" | "offers">,
  gone: readonly LostServer[],
): CatalogContext["offers"] {
  return servers.flatMap(({ server, connection }) => {
    const lost = gone.find((one) => one.connection === connection);
    if (lost === undefined) return offers.filter((one) => one.connection === connection);
    const report = { server, tools: 0, rejected: 0, failure: lost.failure };
    return [{ connection, report, offer: null }];
  });
}
