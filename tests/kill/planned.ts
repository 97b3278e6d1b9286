/** Planned rounds: the runtime ends itself at a point of the crash table, and the table says what must come of it. */
import type { CrashPlan } from "./crash_plan.ts";
import { linesOfFile } from "./outside.ts";
import { pause } from "./pause.ts";
import type { Play } from "./play.ts";
import { type Cell, expectedOf } from "./table.ts";

/** F01: the runtime ends itself at the point of its cell; for P12 a second one, which asks about the first. */
export async function playPlanned(play: Play): Promise<void> {
  const { scene, draw: { cell, holdsBefore } } = play;
  if (cell === undefined) return;
  const { point, carrier } = cell;
  const port = carrier === "stdio" || carrier === "http" ? "mcp.call" : "tool.call";
  const isAboutDoubt = point === "P12" || point === "P12b";
  const first = isAboutDoubt ? carrier === "file" ? "P8" : "P7" : point;
  if (first === "P6") await scene.hold("before");
  if (first === "P7") await scene.hold("after");
  if (first === "P14") await scene.hold(holdsBefore ? "before" : "after");
  await dieAt(play, { point: first, port });
  if (!isAboutDoubt) return;
  await scene.letGo();
  await dieAt(play, { point, port });
}

async function dieAt(play: Play, plan: Pick<CrashPlan, "point" | "port">): Promise<void> {
  const { client, scene: { paths } } = play;
  const owner = play.owner(plan);
  const host = await client.connect(owner);
  const working = host === undefined ? undefined : client.play(host);
  if (host !== undefined && plan.point === "P14") {
    while (!owner.isOver && !linesOfFile(paths.ledger).some(({ what }) => what === "arrived")) {
      await pause(10);
    }
    void client.cancel(host);
  }
  // A runtime that never comes there settles, and would wait for ever.
  await Promise.race([owner.ended, working]);
  await pause(0);
  const { signal } = await owner.kill();
  await working;
  const reached = linesOfFile(paths.reached) as unknown as readonly { point: string; pid: number }[];
  const isReached = reached.some((one) => one.point === plan.point && one.pid === owner.pid);
  if (signal === "SIGKILL" && isReached) play.kills += 1;
  else play.complain("F01", `The point ${plan.point} was not reached: signal ${signal}`);
}

/** F01: what the crash table says of this cell. */
export function judgeCell({ scene, client, complain, ...play }: Play, cell: Cell): void {
  const tell = complain.bind(play as Play);
  const { isDoubted, arrived, applied } = expectedOf(cell);
  const isMeant = ({ id }: { readonly id: string }) => id === "id-1-1";
  const lines = linesOfFile(scene.paths.ledger).filter(isMeant);
  const doubts = client.settled.filter(isMeant);
  const count = (wanted: string) => lines.filter(({ what }) => what === wanted).length;
  const came = count(cell.carrier === "file" ? "begun" : "arrived");
  const had = cell.carrier === "file" ? came : count("applied");
  const within = (value: number, [least, most]: readonly [number, number]) => value >= least && value <= most;
  if (doubts.length > 0 !== isDoubted) {
    tell("F01", `A person was asked ${doubts.length} times whether it happened`);
  }
  if (!within(came, arrived)) tell("F01", `It came ${came} times, expected are ${arrived.join(" to ")}`);
  if (!within(had, applied)) tell("F01", `It was applied ${had} times, expected are ${applied.join(" to ")}`);
}
