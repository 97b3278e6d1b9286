/** One round: a runtime works, dies, and is started again; then everything must be as it was promised. */
import { playDamage } from "./damage.ts";
import { drawRound, type Kind } from "./draw.ts";
import { findLeft, judge } from "./judges.ts";
import { playCommand, playFenced, playPaused, playRandom, playRecovery } from "./lives.ts";
import { judgeCell, playPlanned } from "./planned.ts";
import { type Complaint, Play } from "./play.ts";
import type { Cell } from "./table.ts";

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
const roundMs = 300_000;
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
  if (!healsItself.includes(kind)) await play.heal();
  if (kind === "damage" || play.complaints.length > 0) return;
  const left = findLeft(scene.paths.folder);
  for (const one of left) play.complain("I11", `It lives on after the last runtime: ${one}`);
  await judge(scene, client, (invariant, message) => play.complain(invariant, message));
  if (cell !== undefined) judgeCell(play, cell);
}

function resultOf(play: Play): Result {
  const { draw: { number, kind, cell, parts, damage, killsAfterMs }, client, kills, complaints, damaged } =
    play;
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
