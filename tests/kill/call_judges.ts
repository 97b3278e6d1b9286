/** Judges of calls: what the journal says of each against what the world outside saw of it. */
import { InvocationFold } from "../../src/records/invocation_fold.ts";
import type { InvocationRow } from "../../src/records/invocation_row.ts";
import type { Client } from "./client.ts";
import type { Complain, Read } from "./judges.ts";
import { type Effect, type LedgerLine, linesOfFile } from "./outside.ts";
import type { Scene } from "./scene.ts";

/** What the judges of calls look at besides the store. */
export interface CallCase {
  readonly scene: Scene;
  readonly client: Pick<Client, "settled">;
  readonly complain: Complain;
}

/** Outcomes that say that certainly nothing happened. */
const nothingHappened = new Set(["failed", "timed_out", "denied", "canceled", "invalid", "not_found"]);

/** The call's name for the outside, if it acts there. */
function idOf(row: InvocationRow): string | undefined {
  return /id-\d-\d/.exec(JSON.stringify(row.arguments))?.[0];
}

/** I1 to I5: asks about every call of every session. */
export async function judgeCalls({ streams }: Read, one: CallCase): Promise<void> {
  const lines = linesOfFile(one.scene.paths.ledger);
  for (const [root, entries] of streams) {
    if (!root.startsWith("session/")) continue;
    const fold = new InvocationFold();
    for (const entry of entries) fold.take(entry);
    for (const row of fold.rows) {
      const id = idOf(row);
      // A call for a child agent names what the child is to do; the child's own call is judged.
      if (id === undefined || row.tool === "delegate_task") continue;
      judgeApproval(root, row, one.complain);
      await judgeCall(row, id, { ...one, lines: lines.filter((line) => line.id === id) });
    }
  }
}

/** I5: what needs a person was allowed by one before its first intent. */
function judgeApproval(root: string, row: InvocationRow, complain: Complain): void {
  const needsPerson = row.tool === "write_file" || row.tool === "terminal";
  if (!needsPerson || row.intents.length === 0 || row.decisions.some((one) => /allow/.test(one))) return;
  complain("I5", `${root} ${row.turn}/${row.ordinal} was dispatched and nobody allowed it`);
}

interface World extends CallCase {
  readonly lines: readonly LedgerLine[];
}

async function judgeCall(row: InvocationRow, id: string, world: World): Promise<void> {
  const { lines, client: { settled }, complain } = world;
  const isFile = row.tool === "write_file";
  const isBackground = row.arguments["background"] === true;
  const effect = (lines[0]?.effect ?? "non_idempotent") as Effect;
  const times = lines.filter(({ what }) => what === (isFile ? "begun" : "applied")).length;
  const happened = isFile ? await hasContent(world.scene, id) : times > 0;
  const repeats = settled.filter((one) => one.id === id && one.decision === "run_again").length;
  const what = `${row.tool} ${id} (${row.outcome}, ${row.decisions.join("; ")})`;
  if (effect === "non_idempotent" && times > 1 + repeats) {
    complain("I1", `${what} was applied ${times} times, ${1 + repeats} are allowed`);
  }
  if (effect === "conditional") {
    if (times > 1) complain("I2", `${what} was applied ${times} times under one key`);
    const names = new Set(lines.map(({ key }) => key));
    if (names.size > 1 || names.has("")) {
      complain("I2", `${what} met its target under ${[...names].join(", ")}`);
    }
  }
  const isByOperator = settled.some((one) => one.id === id && one.decision !== "run_again");
  if (isByOperator) return;
  if (effect !== "idempotent" && nothingHappened.has(row.outcome) && happened) {
    complain("I3", `${what} says that nothing happened, and it was applied ${times} times`);
  }
  // The call of a task succeeds once the task has begun; what becomes of that is another record.
  if (row.outcome === "succeeded" && !happened && !isBackground) {
    complain("I4", `${what} succeeded, and nothing happened`);
  }
  if (row.outcome === "running" || row.outcome === "waiting") complain("I11", `${what} never ended`);
  if (row.outcome === "unknown") complain("R9", `${what} is unknown, and nobody gave it up`);
}

async function hasContent({ paths: { folder } }: Scene, id: string): Promise<boolean> {
  return await Deno.readTextFile(`${folder}/ws/${id}.txt`).catch(() => "") === `applied ${id}\n`;
}
