/** The tree of all actors: supervisors, sessions with their turns, calls and questions, and the roots that serve them. */
import { BudgetField } from "../../schemas/budget.ts";
import type { RootRecord } from "../../schemas/entry.ts";
import type { ForkOrigin } from "../../schemas/fork.ts";
import { type RootAddress, sessionOf } from "../../schemas/ids.ts";
import type { WaitReason } from "../../schemas/recovery.ts";
import type { ActorState } from "./actor_state.ts";
import { parentOf } from "./reason.ts";
import { type RootView, type RootViews, sinceOf } from "./root_view.ts";
import { waitText } from "./wait_reason.ts";

/** One actor in the tree. */
export interface TreeLine {
  readonly depth: number;
  readonly address: string;
  /** As it is called below the line above it that it belongs to. */
  readonly name: string;
  readonly title: string;
  readonly state: string;
  readonly sinceMs: number | undefined;
  /** True if its root is awake in the process that owns the store. */
  readonly isLive: boolean;
  readonly restarts: number;
  /** What it waits for, in one word of a fixed list. */
  readonly reason: WaitReason | undefined;
  /** What it waits for, in words. */
  readonly waits: readonly string[];
  /** Of a session with a budget: what it spent of each field that has a bound. */
  readonly budget: { readonly [field: string]: { readonly spent: number; readonly limit: number } };
  /** Of a fork: where its entries come from. */
  readonly origin: ForkOrigin | undefined;
  /** Why its root is out of service, or cannot be read. */
  readonly trouble: string | undefined;
}

/** What of a store is shown. */
export interface TreeRequest {
  /** Only this session, with all that belongs to it. */
  readonly session?: RootAddress | undefined;
  /** Only so many sessions, the newest: each is read from its journal. */
  readonly sessionsMax: number;
  readonly nowMs: number;
}

/** A tree, and how many older sessions were left out of it. */
export interface Tree {
  readonly lines: readonly TreeLine[];
  readonly leftOut: number;
}

/** The tree of a store, supervisors first, then sessions as they began. */
export async function readTree(views: RootViews, request: TreeRequest): Promise<Tree> {
  const { session, sessionsMax, nowMs } = request;
  const { records } = views;
  const lines: TreeLine[] = [];
  if (session === undefined) {
    // Those that belong to no session: supervisors, and whatever else serves all of them.
    for (const one of records.filter(({ address }) => sessionOf(address) === undefined)) {
      lines.push(...await linesOf(views, one.address, { depth: 0, nowMs }));
    }
  }
  const sessions = records.flatMap(({ kind, address }) => kind === "session" ? [address] : []);
  const recent = sessions.slice(-sessionsMax);
  const shown = new Set(recent);
  const isBelow = ({ parent }: RootRecord) => shown.has(sessionOf(parent ?? "") ?? "");
  const tops = session === undefined
    ? records.filter((record) => shown.has(record.address) && !isBelow(record)).map(({ address }) => address)
    : [session];
  for (const address of tops) lines.push(...await familyOf(views, { address, depth: 0, nowMs }));
  return { lines, leftOut: session === undefined ? sessions.length - recent.length : 0 };
}

interface Family {
  readonly address: RootAddress;
  readonly depth: number;
  readonly nowMs: number;
}

/** A session and the roots that serve it; below a task the session of its child agent, with all that is its own. */
async function familyOf(views: RootViews, family: Family): Promise<TreeLine[]> {
  const { address, depth, nowMs } = family;
  const lines = await linesOf(views, address, { depth, nowMs });
  for (const { address: other } of views.records) {
    if (other === address || sessionOf(other) !== address) continue;
    lines.push(...await linesOf(views, other, { depth: depth + 1, nowMs }));
    for (const { address: child, parent } of views.records) {
      if (parent === other) lines.push(...await familyOf(views, { address: child, depth: depth + 2, nowMs }));
    }
  }
  return lines;
}

async function linesOf(
  views: RootViews,
  address: RootAddress,
  { depth, nowMs }: Pick<Family, "depth" | "nowMs">,
): Promise<TreeLine[]> {
  const view = await views.of(address);
  if (view === undefined) return [];
  const restarts = await views.restartsOf(address, nowMs);
  const { record, actors, live } = view;
  const isOut = record.status === "quarantined";
  const [root, ...below] = isOut ? [] : actors;
  const line = (fields: Partial<TreeLine> & Pick<TreeLine, "depth" | "address" | "name">): TreeLine => ({
    title: "",
    state: "unknown",
    sinceMs: undefined,
    isLive: live !== undefined,
    restarts: 0,
    reason: undefined,
    waits: [],
    budget: {},
    trouble: undefined,
    origin: undefined,
    ...fields,
  });
  const standing = (actor: (typeof actors)[number]) => ({
    state: actor.state,
    sinceMs: sinceOf(view, actor),
    reason: actor.reason,
    waits: [
      ...waitWords(actor),
      ...actor.waits.map(({ words }) => words),
      ...actor.awaits.map((one) => `a message of ${one}`),
    ],
  });
  const own = root === undefined ? await outOfService(views, view) : standing(root);
  // How a task ended says more than that it did.
  const ended = root?.state === "ended" && view.history.status !== undefined
    ? { state: view.history.status }
    : {};
  return [
    line({
      depth,
      address,
      name: address,
      title: record.title,
      origin: record.origin,
      restarts,
      budget: spentOf(view),
      ...own,
      ...ended,
    }),
    ...isOut ? lostTurn(view, depth + 1).map(line) : [],
    ...below.map((actor) => {
      const parent = parentOf(actors, actor.address) ?? address;
      return line({
        depth: depth + depthOf(view, actor.address),
        address: actor.address,
        name: actor.address.slice(parent.length + 1),
        ...standing(actor),
      });
    }),
  ];
}

function waitWords({ address, wait }: ActorState): readonly string[] {
  return wait === undefined ? [] : [waitText(wait, address)];
}

/** The turn that ran when its session was taken out of service: it never ends. */
function lostTurn(
  { record: { address, kind }, history: { budget: { turn } } }: RootView,
  depth: number,
): readonly (Pick<TreeLine, "depth" | "address" | "name" | "state">)[] {
  if (kind !== "session" || turn === undefined) return [];
  return [{ depth, address: `${address}/turn/${turn}`, name: `turn/${turn}`, state: "lost" }];
}

/** What was spent of every field that has a bound, children included. */
function spentOf({ record, history: { budget } }: RootView): TreeLine["budget"] {
  if (record.kind !== "session") return {};
  const fields = BudgetField.options.flatMap((field) => {
    const limit = budget.budget[field];
    return limit === undefined ? [] : [[field, { spent: budget.spent[field], limit }] as const];
  });
  return Object.fromEntries(fields);
}

async function outOfService(
  views: RootViews,
  { record: { address, status, reason }, history }: RootView,
): Promise<Partial<TreeLine>> {
  if (status === "active") return { trouble: history.unreadable };
  const escalated = await views.escalationOf(address);
  return {
    state: "quarantined",
    sinceMs: escalated?.atMs,
    restarts: escalated?.restarts ?? 0,
    trouble: reason ?? "no reason was recorded",
  };
}

function depthOf({ actors }: RootView, address: string): number {
  const parent = parentOf(actors, address);
  return parent === undefined ? 0 : 1 + depthOf({ actors } as RootView, parent);
}
