/** One round: a runtime works, dies, and is started again; then everything must be as it was promised. */
import type { Decision } from "../../schemas/question.ts";
import type { ActingHost } from "../../src/host/host.ts";
import { Client, type Decide } from "./client.ts";
import { type CrashPlan, planVariable } from "./crash_plan.ts";
import { playDamage } from "./damage.ts";
import { type Draw, drawRound, type Kind } from "./draw.ts";
import { findLeft, judge } from "./judges.ts";
import { linesOfFile } from "./outside.ts";
import { type KillableProcess, startOwner, startTroupe } from "./process.ts";
import { type Part, Scene } from "./scene.ts";
import { type Cell, expectedOf } from "./table.ts";

/** A broken promise. */
export interface Complaint {
  readonly invariant: string;
  readonly message: string;
}

/** What a round showed. */
export interface Result {
  readonly number: number;
  readonly kind: Kind;
  /** What was done, in a few words. */
  readonly what: string;
  readonly cell: Cell | undefined;
  readonly kills: number;
  readonly acknowledged: number;
  readonly complaints: readonly Complaint[];
  /** What a damaged store led to. */
  readonly damaged: string | undefined;
  readonly folder: string;
  /** What the last process said. */
  readonly tail: string;
  readonly draw: string;
}

/** Longest round: only a runtime that waits for ever comes near it. */
const roundMs = 120_000;
/** Longest life of what a killed runtime left behind, once the next has started. */
const orphanMs = 10_000;

/** The stage of one round: everything that its kinds share. */
export class Play {
  readonly draw: Draw;
  readonly scene: Scene;
  readonly client: Client;
  readonly complaints: Complaint[] = [];
  readonly processes: KillableProcess[] = [];
  kills = 0;
  damaged: string | undefined;

  constructor(draw: Draw, folder: string) {
    this.draw = draw;
    this.scene = new Scene(folder);
    this.client = new Client(this.scene, draw.parts, decideBy(draw));
  }

  complain(invariant: string, message: string): void {
    this.complaints.push({ invariant, message });
  }

  owner(plan?: Pick<CrashPlan, "point" | "port">): KillableProcess {
    const { env, paths: { folder, store, ledger, reached } } = this.scene;
    const whole = plan === undefined ? "" : JSON.stringify({ ...plan, nth: 1, ledger, reached });
    return this.#track(startOwner(store, { folder, env: { ...env, [planVariable]: whole } }));
  }

  troupe(...args: readonly string[]): KillableProcess {
    const { env, paths: { folder } } = this.scene;
    return this.#track(startTroupe(args, { folder, env: { ...env, [planVariable]: "" } }));
  }

  /** Has the client work with an owner; resolves at the end of all its orders, or of the owner. */
  async work(owner: KillableProcess): Promise<ActingHost | undefined> {
    const host = await this.client.connect(owner);
    if (host === undefined) return undefined;
    await this.client.play(host);
    return host;
  }

  async kill(process: KillableProcess): Promise<void> {
    if (!process.isOver) this.kills += 1;
    await process.kill();
  }

  /** A last life without faults: everything must settle, and the runtime must end well. */
  async heal(): Promise<void> {
    const orphans = findLeft(this.scene.paths.folder).map(pidIn);
    const owner = this.owner();
    const host = await this.client.connect(owner);
    if (host === undefined) {
      const { code } = await owner.ended;
      return this.complain("I11", `The next start ended with exit code ${code}`);
    }
    await this.judgeOrphans(orphans);
    await this.client.play(host);
    await this.finish(owner, host);
  }

  /** Waits for what goes on beside turns, and stops the owner in order. */
  async finish(owner: KillableProcess, host: ActingHost): Promise<void> {
    await this.client.untilTasksEnded(host);
    await host.close();
    owner.signal("SIGTERM");
    const { code, signal } = await owner.ended;
    if (code !== 0) this.complain("I11", `The healed runtime ended with exit code ${code}, signal ${signal}`);
  }

  async judgeOrphans(orphans: readonly number[]): Promise<void> {
    const { folder } = this.scene.paths;
    const living = () => findLeft(folder).filter((one) => orphans.includes(pidIn(one)));
    for (const giveUpAt = Date.now() + orphanMs; living().length > 0 && Date.now() < giveUpAt;) await pause(50);
    for (const one of living()) this.complain("I11", `It outlived the runtime that started it: ${one}`);
  }

  #track(process: KillableProcess): KillableProcess {
    this.processes.push(process);
    return process;
  }
}

function pidIn(text: string): number {
  return Number(text.split(":")[0]);
}

/** An operator: looks at the world when asked what happened, and mostly lets things happen. */
function decideBy({ random, cell }: Draw): Decide {
  return ({ subject: { kind } }, _id, isApplied): Decision => {
    if (kind !== "uncertain") return cell === undefined && random() < 0.08 ? "deny" : "allow";
    if (cell === undefined && random() < 0.15) return "abandon";
    if (isApplied) return cell === undefined && random() < 0.2 ? "run_again" : "mark_applied";
    return cell === undefined && random() < 0.3 ? "mark_not_applied" : "run_again";
  };
}

/** How each kind is played, up to the point from which everything must heal. */
const plays: { readonly [K in Kind]: (play: Play) => Promise<void> } = {
  planned: playPlanned,
  random: playRandom,
  recovery: playRecovery,
  command: playCommand,
  paused: playPaused,
  fenced: playFenced,
  damage: playDamage,
};

/** Kinds that end healed by themselves, or must not be judged like others. */
const healsItself: readonly Kind[] = ["paused", "fenced", "damage"];

/** Plays one round in a folder of its own, which is kept if anything is broken. */
export async function playRound(number: number, only?: Kind): Promise<Result> {
  const draw = drawRound(number, only);
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: `troupe-kill-${number}-` }));
  const play = new Play(draw, folder);
  const late = Promise.withResolvers<never>();
  const guard = setTimeout(() => late.reject(new Error(`It was not over after ${roundMs} ms`)), roundMs);
  try {
    await Promise.race([playThrough(play), late.promise]);
  } catch (error) {
    play.complain("I11", error instanceof Error ? `${error.message}\n${error.stack}` : String(error));
  } finally {
    clearTimeout(guard);
    for (const process of play.processes) await process.kill();
    await play.scene.close();
  }
  if (play.complaints.length === 0) await Deno.remove(folder, { recursive: true });
  return resultOf(play);
}

async function playThrough(play: Play): Promise<void> {
  const { scene, client, draw: { kind, cell, parts } } = play;
  await scene.write(parts, cell !== undefined && ["P2", "P3", "P4"].includes(cell.point));
  await plays[kind](play);
  await scene.letGo();
  if (!healsItself.includes(kind)) await play.heal();
  if (kind === "damage" || play.complaints.length > 0) return;
  const left = findLeft(scene.paths.folder);
  for (const one of left) play.complain("I11", `It lives on after the last runtime: ${one}`);
  await judge(scene, client, (invariant, message) => play.complain(invariant, message));
  if (cell !== undefined) judgeCell(play, cell);
}

function resultOf(play: Play): Result {
  const { draw: { number, kind, cell, parts, damage, killsAfterMs }, client, kills, complaints, damaged } = play;
  const shown = cell === undefined ? damage ?? "" : `${cell.point} ${cell.effect} ${cell.carrier}`;
  return {
    number,
    kind,
    what: `${kind} ${shown}`.trim(),
    cell,
    kills,
    acknowledged: client.acknowledged,
    complaints,
    damaged,
    folder: play.scene.paths.folder,
    tail: play.processes.map(({ pid, tail }) => `process ${pid}: ${tail}`).join("\n"),
    draw: JSON.stringify({ cell, damage, killsAfterMs, parts }),
  };
}

/** F01: the runtime ends itself at the point of its cell; for P12 a second one, which asks about the first. */
async function playPlanned(play: Play): Promise<void> {
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
  await scene.letGo();
  if (isAboutDoubt) await dieAt(play, { point, port });
}

async function dieAt(play: Play, plan: Pick<CrashPlan, "point" | "port">): Promise<void> {
  const { client, scene: { paths } } = play;
  const owner = play.owner(plan);
  const host = await client.connect(owner);
  const working = host === undefined ? undefined : client.play(host);
  if (host !== undefined && plan.point === "P14") {
    while (!owner.isOver && !linesOfFile(paths.ledger).some(({ what }) => what === "arrived")) await pause(10);
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
function judgeCell({ scene, client, complain, ...play }: Play, cell: Cell): void {
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

/** F02: at a time drawn by lot after the first acknowledgement. */
async function playRandom(play: Play): Promise<void> {
  const owner = play.owner();
  const working = play.work(owner);
  await Promise.race([play.client.firstAccepted, owner.ended]);
  await pause(play.draw.killsAfterMs[0] ?? 0);
  await play.kill(owner);
  await working;
}

/** F02: the same, and then the runtimes that recover are killed too, some before they are open. */
async function playRecovery(play: Play): Promise<void> {
  await playRandom(play);
  for (const [index, afterMs] of play.draw.killsAfterMs.slice(1).entries()) {
    const owner = play.owner();
    const working = play.work(owner);
    await (index === 0 ? owner.until("held") : pause(300));
    await pause(afterMs);
    await play.kill(owner);
    await working;
  }
}

/** F02: the real command, which is a client of its own. */
async function playCommand(play: Play): Promise<void> {
  const { client, draw: { parts, killsAfterMs } } = play;
  const [part] = parts as readonly [Part];
  const command = play.troupe(...runOf(part));
  await command.until("\n");
  await pause(killsAfterMs[0] ?? 0);
  await play.kill(command);
  client.adopt(command.out);
}

function runOf({ name }: Part): string[] {
  return ["run", name, "Go on, now", "--workspace", "ws", "--answer", "allow", "--json"];
}

/** F12: the owner is stopped, and nobody else gets in; then it goes on as if nothing had been. */
async function playPaused(play: Play): Promise<void> {
  const owner = play.owner();
  const host = await play.client.connect(owner);
  if (host === undefined) return play.complain("F12", "The owner did not start");
  const working = play.client.play(host);
  await Promise.race([play.client.firstAccepted, owner.ended]);
  await pause(play.draw.killsAfterMs[0] ?? 0);
  owner.signal("SIGSTOP");
  const [part] = play.draw.parts as readonly [Part];
  const others = [play.owner(), play.troupe(...runOf(part))];
  const stopped = pause(5_000);
  for (const other of others) {
    const { code } = await other.ended;
    if (code !== 4 || !other.err.includes("[store_in_use]")) {
      play.complain("F12", `A second start ended with exit code ${code} while the owner was stopped: ${other.tail}`);
    }
  }
  await stopped;
  owner.signal("SIGCONT");
  await working;
  await play.finish(owner, host);
}

/** F11: the lock file is deleted under an owner; the next one fences it. */
async function playFenced(play: Play): Promise<void> {
  const { scene, client, draw: { parts, holdsBefore } } = play;
  const [part] = parts as readonly [Part];
  await scene.hold(holdsBefore ? "before" : "after");
  const old = play.troupe(...runOf(part));
  await old.until("\n");
  await Promise.race([old.ended, pause(play.draw.killsAfterMs[0] ?? 0)]);
  await Deno.remove(`${scene.paths.store}.lock`);
  const owner = play.owner();
  const host = await client.connect(owner);
  await scene.letGo();
  if (host === undefined) return play.complain("F11", `The second owner did not start: ${owner.tail}`);
  client.adopt(old.out);
  await client.play(host);
  const { code } = await old.ended;
  if (code !== 5 || !old.err.includes("[store_fenced]")) {
    play.complain("F11", `The old owner ended with exit code ${code}`);
  }
  await play.finish(owner, host);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
