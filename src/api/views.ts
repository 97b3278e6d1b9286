/** `get`, `list`, `tree`, `budget` and `why`: what can be known of agents. */
import type { ApiGiven, ApiResult } from "../../schemas/api.ts";
import type { AgentView, ApiWait } from "../../schemas/api_view.ts";
import type { TurnWait } from "../../schemas/recovery.ts";
import { apiLimits } from "../../schemas/api_limits.ts";
import type { RootRecord } from "../../schemas/entry.ts";
import { type RootAddress, rootKindOf } from "../../schemas/ids.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { throughJson } from "../canonical.ts";
import { readBudget } from "../records/budget_fold.ts";
import { explain } from "../why/reason.ts";
import { RootViews } from "../why/root_view.ts";
import { readStandingWait } from "../why/standing_wait.ts";
import { readTree, type TreeLine } from "../why/tree.ts";
import { notFound } from "./api_failure.ts";
import type { ApiCallContext } from "./api_parts.ts";
import { isVisible, ownerOf, parentSession, sessionFor } from "./visible.ts";

/** One agent. */
export async function get(
  context: ApiCallContext,
  { address }: ApiGiven<"get">,
): Promise<ApiResult<"get">> {
  return await viewOf(context, sessionFor(context, address));
}

/** The agents that the caller can see, the newest first. */
export async function list(
  context: ApiCallContext,
  { labels = {}, limit, before }: ApiGiven<"list">,
): Promise<ApiResult<"list">> {
  const { parts: { runtime }, caller } = context;
  const { records } = runtime.kernel;
  const wanted = Object.entries(labels);
  const seen = [...records.values()]
    .filter(({ kind, address }) => kind === "session" && isVisible(records, caller, address))
    .filter((one) => wanted.every(([key, value]) => one.labels?.[key] === value))
    .sort((left, right) => right.createdAt - left.createdAt || (left.address < right.address ? 1 : -1));
  const from = before === undefined ? 0 : seen.findIndex(({ address }) => address === before) + 1;
  if (before !== undefined && from === 0) throw notFound();
  const page = seen.slice(from, from + limit);
  const agents = await Promise.all(page.map((record) => viewOf(context, record)));
  const last = page.at(-1);
  const hasMore = from + limit < seen.length && last !== undefined;
  return { agents, ...(hasMore ? { next: last.address } : {}) };
}

async function viewOf({ parts: { runtime } }: ApiCallContext, record: RootRecord): Promise<AgentView> {
  const { address, title, name, labels, createdAt, status } = record;
  const parent = parentSession(record);
  const awake = runtime.kernel.roots.get(address);
  const wait = status === "active" ? await readStandingWait(runtime.journal, address) : undefined;
  return {
    address,
    title,
    owner: ownerOf(runtime.kernel.records, address) ?? "",
    ...(name === undefined ? {} : { name }),
    ...(labels === undefined ? {} : { labels }),
    ...(parent === undefined ? {} : { parent }),
    created_at: createdAt,
    status,
    ...(wait === undefined ? {} : { waiting: publishedWait(wait) }),
    // What is awake knows where it stands; but what is not durable is nobody's to know (K3).
    seq: awake === undefined || awake.unwritten > 0
      ? (await runtime.journal.readHead(address)).seq
      : awake.seq,
  };
}

function publishedWait(
  { turn, reason, category, kind, strategy, attempt, maximum, nextRetryAtMs, lastError }: TurnWait,
): ApiWait {
  return {
    turn,
    reason,
    category,
    kind,
    strategy,
    attempt,
    maximum,
    ...(nextRetryAtMs === null ? {} : { next_retry_at: nextRetryAtMs }),
    last_error: lastError,
  };
}

/** An agent with everything below it. */
export async function tree(
  context: ApiCallContext,
  { address }: ApiGiven<"tree">,
): Promise<ApiResult<"tree">> {
  sessionFor(context, address);
  return { actors: await treeOf(context, address) };
}

/** The lines of an agent's tree, as they are published. */
export async function treeOf(
  { parts: { host, seams } }: ApiCallContext,
  session: RootAddress,
): Promise<ApiResult<"tree">["actors"]> {
  const nowMs = seams.clock.now();
  const sessionsMax = apiLimits.treeSessionsMax;
  const { lines } = await readTree(await RootViews.open(host), { session, sessionsMax, nowMs });
  return lines.map(publishedLine);
}

function publishedLine(
  { sinceMs, isLive, trouble, reason, waits, budget, depth, address, name, title, state, restarts }: TreeLine,
): ApiResult<"tree">["actors"][number] {
  return {
    depth,
    address,
    name,
    title,
    state,
    ...(sinceMs === undefined ? {} : { since: sinceMs }),
    is_live: isLive,
    restarts,
    ...(reason === undefined ? {} : { reason }),
    waits: [...waits],
    budget: { ...budget },
    ...(trouble === undefined ? {} : { trouble }),
  };
}

/** What an agent may spend and what it spent. */
export async function budget(
  context: ApiCallContext,
  { address }: ApiGiven<"budget">,
): Promise<ApiResult<"budget">> {
  sessionFor(context, address);
  const { budget, spent, left } = await readBudget(context.parts.host.readPages(address));
  const bounds = Object.entries(left).flatMap(([field, value]) =>
    value === undefined ? [] : [[field, value]]
  );
  return { address, budget, spent, left: Object.fromEntries(bounds) };
}

/** Why an actor does not go on. */
export async function why(
  context: ApiCallContext,
  { address }: ApiGiven<"why">,
): Promise<ApiResult<"why">> {
  const { parts: { host, runtime, seams }, caller } = context;
  const root = address.split("/").slice(0, 2).join("/");
  if (rootKindOf(root) === undefined || !isVisible(runtime.kernel.records, caller, root)) throw notFound();
  const views = await RootViews.open(host);
  const view = await views.of(root);
  const reason = view === undefined
    ? undefined
    : await explain(views, view, { address, nowMs: seams.clock.now() });
  if (reason === undefined) throw notFound();
  return { reason: throughJson(reason) as unknown as JsonObject };
}
