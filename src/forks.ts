/** Forks sessions: a new one with the entries of another up to a border, which goes on live from there (K24). */
import type { SessionState } from "../actors/session_fork.ts";
import { notYours } from "../actors/session_close.ts";
import type { Entry, RootRecord } from "../schemas/entry.ts";
import type { ForkClosed, ForkOrigin, ForkReport } from "../schemas/fork.ts";
import { type RootAddress, rootKindOf, sessionOf, taskAddress, type TaskId } from "../schemas/ids.ts";
import type { Json } from "../schemas/json.ts";
import { canonicalJson } from "../schemas/json.ts";
import { limits } from "../schemas/limits.ts";
import { readLineage } from "./agents/lineage.ts";
import { bear, createConnection } from "./births.ts";
import { throughJson } from "./canonical.ts";
import type { Unit } from "./journal/unit.ts";
import { cleanText } from "./effects/clean.ts";
import type { Redactor } from "./redact/redactor.ts";
import { closeFork, type ForkClosing, intentName } from "./kernel/fork_closing.ts";
import { type ForkPoint, readForkPoint } from "./kernel/fork_point.ts";
import { type Kernel, KernelError, observe, tell } from "./kernel/kernel.ts";
import type { LiveRoot } from "./kernel/live_root.ts";
import { schedule } from "./kernel/pump.ts";
import { snapshotOf } from "./kernel/write.ts";
import { reach } from "./kernel/reach.ts";
import { readSchedule } from "./schedules.ts";

/** A fork to be made. */
export interface ForkOrder {
  readonly session: RootAddress;
  /** The last entry that the fork has in common with the session. */
  readonly at: number;
  readonly title?: string | undefined;
  /** Settles calls that were under way as canceled, instead of refusing to fork there. */
  readonly settle?: boolean | undefined;
  /** Another model than that of the session. */
  readonly model?: string | undefined;
}

/** Forks a session; resolves once the fork is durable. Nothing is performed: the fork rests until it is prompted. */
export async function forkSession(
  kernel: Kernel,
  order: ForkOrder,
  redactor: Redactor,
): Promise<ForkReport> {
  await reach(kernel, order.session);
  const record = recordOf(kernel, order.session);
  const id = kernel.seams.nextId("ses");
  const identity = { address: `session/${id}`, catalog: `catalog/${id}`, model: order.model };
  const point = await readForkPoint(kernel, { from: order.session, seq: order.at, to: identity.address });
  if (order.settle !== true) refuseUnsettled(order, point);
  const lineage = await readLineage(kernel, order.session);
  if (lineage === undefined) throw unreadable(order.session);
  const origin: ForkOrigin = { address: order.session, seq: order.at, hash: point.hash };
  const { root } = point;
  // Its entries are copied with the epochs that they have, and epochs never fall.
  const { ownership } = kernel.journal;
  ownership.bear(identity.address, ownership.epochOf(order.session));
  await copyEntries(kernel, order, identity.address);
  const titleOf = (task: TaskId) => kernel.records.get(taskAddress(task, order.session))?.title ?? "";
  const closing = closeFork(kernel, root, { identity, origin, at: point.at, titleOf });
  const closed = [...closing.closed, ...await schedulesOf(kernel, order.session)];
  const report: ForkReport = {
    session: identity.address,
    origin,
    settled: [...closing.settled],
    closed,
  };
  const title = order.title === undefined ? record.title : cleanText(redactor, order.title, "durable");
  const { servers } = (root.persisted() as unknown as SessionState).context;
  // In this order, and in one go: no crash leaves a session that waits for a catalog which never comes.
  const births = [
    bear(kernel, "catalog", {
      ...lineage.catalog,
      address: identity.catalog,
      subscriber: identity.address,
    }, { title }),
    ...servers.map((server) => createConnection(kernel, server, identity.catalog)),
    writeFork(kernel, root, { closing, report, title, owner: record.owner }),
  ];
  await Promise.all(births);
  kernel.seams.log({
    level: "info",
    event: "session_forked",
    detail: { root: identity.address, origin: order.session, seq: order.at },
  });
  return report;
}

function recordOf(kernel: Kernel, session: RootAddress): RootRecord {
  const record = kernel.records.get(session);
  if (record === undefined || record.kind !== "session") {
    throw new KernelError("root_not_found", `No session has the address "${session}"`);
  }
  // A child has a part of its parent's rights and budget, and ends with it.
  if (record.parent !== undefined) {
    throw new KernelError("session_not_yours", notYours(sessionOf(record.parent) ?? record.parent));
  }
  return record;
}

function unreadable(session: RootAddress): KernelError {
  return new KernelError(
    "fork_other_code",
    `Cannot fork "${session}": other code began it, and what it began with is not known here`,
  );
}

/** Whether a call under way has happened is the original's matter: a fork may not guess it unasked. */
function refuseUnsettled({ session, at }: ForkOrder, { open }: ForkPoint): void {
  const harmful = open.filter(({ request }) => request.effect !== "idempotent");
  if (harmful.length === 0) return;
  throw new KernelError(
    "fork_unsettled",
    `Cannot fork "${session}" at ${at}: ${harmful.map(intentName).join("; ")} is under way there; ` +
      "fork it behind its outcome, or use --settle, which cancels it in the fork",
  );
}

const entriesPerUnit = 100;

/** Copies the entries up to the fork. Large bodies are blobs by content: the fork names the same ones. */
async function copyEntries(kernel: Kernel, { session, at }: ForkOrder, to: RootAddress): Promise<void> {
  const { writer } = kernel.journal;
  let unit: Entry[] = [];
  let bytes = 0;
  const flush = () => {
    if (unit.length > 0) writer.push({ root: to, entries: unit, sets: [], deletes: [] });
    [unit, bytes] = [[], 0];
  };
  for await (const page of kernel.journal.readPages(session)) {
    for (const { blob: _blob, ...entry } of page) {
      if (entry.seq > at) break;
      const size = JSON.stringify(entry).length;
      if (unit.length === entriesPerUnit || bytes + size > limits.unitBytesMax) flush();
      unit.push(entry);
      bytes += size;
    }
    flush();
    await writer.idle();
    if ((page.at(-1)?.seq ?? 0) >= at) break;
  }
}

/** Schedules that would still prompt the original. They prompt no fork. */
async function schedulesOf(kernel: Kernel, session: RootAddress): Promise<readonly ForkClosed[]> {
  const found: ForkClosed[] = [];
  for (const address of kernel.records.keys()) {
    if (rootKindOf(address) !== "schedule" || sessionOf(address) !== session) continue;
    const view = await readSchedule(kernel.journal, address);
    if (view?.status === "waiting") found.push({ kind: "schedule", name: address });
  }
  return found;
}

interface ForkBirth {
  readonly closing: ForkClosing;
  readonly report: ForkReport;
  readonly title: string;
  readonly owner: string | undefined;
}

/** Writes what makes the copy a session: its checkpoint, what was closed, and its record, in one unit. */
function writeFork(
  kernel: Kernel,
  root: LiveRoot,
  { closing, report, title, owner }: ForkBirth,
): Promise<void> {
  const { address } = root;
  const now = kernel.seams.clock.now();
  const seq = root.seq + 1;
  const note: Entry = {
    v: 1,
    seq,
    at: now,
    kind: "note",
    type: "session.forked",
    cause: seq,
    epoch: kernel.journal.ownership.epochOf(address),
    body: throughJson(report) as unknown as Json,
  };
  root.seq = seq;
  const record: RootRecord = {
    v: 1,
    address,
    kind: "session",
    createdAt: now,
    status: "active",
    title: title.slice(0, 200),
    origin: report.origin,
    // Whose the original is, his is the fork: nobody gains a session by it.
    ...(owner === undefined ? {} : { owner }),
  };
  const entries = [...closing.entries, note];
  const persisted = root.persisted();
  root.snapshotSeq = seq;
  const unit: Unit = {
    root: address,
    entries,
    stateText: canonicalJson(persisted),
    stateSeq: seq,
    snapshot: snapshotOf(kernel, root, persisted),
    record,
    sets: [],
    deletes: [],
  };
  root.lastActiveAt = now;
  root.unwritten += 1;
  kernel.records.set(address, record);
  kernel.roots.set(address, root);
  kernel.recovered.add(address); // It has nothing open.
  const { promise, resolve } = Promise.withResolvers<void>();
  kernel.journal.writer.push(unit, () => {
    root.unwritten -= 1;
    tell(kernel, { type: "entries", root: address, entries });
    schedule(kernel);
    resolve();
  });
  observe(kernel, address, entries);
  kernel.journal.writer.urge();
  return promise;
}
