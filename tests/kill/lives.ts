/** Rounds in which a runtime is ended, stopped or fenced from outside, at a time drawn by lot. */
import type { Entry } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { ActingHost } from "../../src/host/host.ts";
import { readStore } from "./judges.ts";
import { pause } from "./pause.ts";
import type { Play } from "./play.ts";
import { type Part, scheduledPrompt } from "./scene.ts";

/** F02: at a time drawn by lot after the first acknowledgement. */
export async function playRandom(play: Play): Promise<void> {
  const owner = play.owner();
  const working = play.work(owner);
  await Promise.race([play.client.firstAccepted, owner.ended]);
  await pause(play.draw.killsAfterMs[0] ?? 0);
  await play.kill(owner);
  await working;
}

/** F02: the same, and then the runtimes that recover are killed too, some before they are open. */
export async function playRecovery(play: Play): Promise<void> {
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
export async function playCommand(play: Play): Promise<void> {
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
export async function playPaused(play: Play): Promise<void> {
  const owner = play.owner();
  const host = await play.client.connect(owner);
  if (host === undefined) return play.complain("F12", "The owner did not start");
  const working = play.client.play(host);
  await until(async () => (await host.listRoots()).some(({ kind }) => kind === "schedule"));
  owner.signal("SIGSTOP");
  const [part] = play.draw.parts as readonly [Part];
  const others = [play.owner(), play.troupe(...runOf(part))];
  const stopped = pause(5_000);
  for (const other of others) {
    const { code } = await other.ended;
    if (code !== 4 || !other.err.includes("[store_in_use]")) {
      play.complain(
        "F12",
        `A second start ended with exit code ${code} while the owner was stopped: ${other.tail}`,
      );
    }
  }
  await stopped;
  owner.signal("SIGCONT");
  await working;
  const [session] = play.client.sessions as readonly [RootAddress];
  await until(async () => await countScheduled(host, session) > 0);
  await play.finish(owner, host);
  const { store, streams } = await readStore(play.scene.paths.store);
  store.close();
  const fired = (streams.get(session) ?? []).filter(isScheduled).length;
  if (fired !== 1) play.complain("F12", `The schedule that fell due meanwhile fired ${fired} times`);
}

async function countScheduled(host: ActingHost, session: RootAddress): Promise<number> {
  let times = 0;
  for await (const page of host.readPages(session)) times += page.filter(isScheduled).length;
  return times;
}

function isScheduled({ kind, body }: Entry): boolean {
  return kind === "input" && JSON.stringify(body).includes(scheduledPrompt);
}

/** Waits until something holds; the bound of the round is that of this. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!await holds()) await pause(10);
}

/** F11: the lock file is deleted under an owner; the next one fences it. */
export async function playFenced(play: Play): Promise<void> {
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
