/** What becomes of children when the runtime is killed at any write: nothing twice, nothing lost. */
import assert from "node:assert/strict";
import type { RootAddress } from "../../schemas/ids.ts";
import {
  call,
  children,
  delegate,
  type FamilyOptions,
  notices,
  openFamily,
  results,
} from "../support/family.ts";
import type { MemoryDisk } from "../support/memory_store.ts";
import { settled, type Stage } from "../support/stage.ts";

/** Longer than what a restart waits before it asks again. Milliseconds. */
const restartMs = 5_000;

/** Gives a prompt under a key; the same key again is the same prompt. */
async function prompt(stage: Stage, session: RootAddress, key: string): Promise<string> {
  const { report } = await settled(stage.world, stage.runtime.prompt(session, key, key));
  await stage.world.advance(restartMs);
  return (await settled(stage.world, report)).outcome;
}

/** Plays a prompt, is killed at the nth write of it, before or after that took hold; goes on, and ends. */
async function killedAt(
  n: number,
  fault: "hang" | "hang_after",
  options: FamilyOptions,
): Promise<{ readonly stage: Stage; readonly session: RootAddress; readonly wasKilled: boolean }> {
  let [isArmed, writes] = [false, 0];
  const faults = () => {
    if (!isArmed) return undefined;
    writes += 1;
    return writes < n ? undefined : writes === n ? fault : "hang";
  };
  const first = await openFamily({ ...options, store: { faults } });
  const session = await first.session();
  isArmed = true;
  const given = first.runtime.prompt(session, "one", "one");
  given.then(({ report }) => report).catch(() => {});
  await first.world.advance(restartMs);
  const wasKilled = writes >= n;
  first.crash();
  const disk: MemoryDisk = first.disk;
  const stage = await openFamily({ ...options, world: first.world, disk });
  await stage.world.advance(restartMs);
  assert.equal(await prompt(stage, session, "one"), "completed", `killed at write ${n} (${fault})`);
  return { stage, session, wasKilled };
}

async function atEveryWrite(
  options: FamilyOptions,
  prove: (stage: Stage, session: RootAddress, where: string) => Promise<void>,
): Promise<number> {
  let kills = 0;
  for (const fault of ["hang", "hang_after"] as const) {
    for (let n = 1;; n++) {
      const { stage, session, wasKilled } = await killedAt(n, fault, options);
      await prove(stage, session, `killed at write ${n} (${fault})`);
      stage.crash();
      if (!wasKilled) break;
      kills += 1;
    }
  }
  return kills;
}

async function prompts(stage: Stage, root: RootAddress): Promise<number> {
  return (await stage.entries(root)).filter(({ kind, type }) => kind === "input" && type === "session.prompt")
    .length;
}

Deno.test("child agent that answers while its parent's runtime is killed is told of once, whatever the write (F31, GA-54)", async () => {
  const options = {
    answers: [{ calls: [call("subagent_spawn", { content: "Count" })] }, { text: "begun" }, {
      text: "heard",
    }],
    agent: { profiles: { main: {}, worker: { default_subagent: true } }, model: "scripted/boss" },
    scripts: {},
  };
  // The child plays the same script; without spawning once more, as its depth is the deepest.
  const family = { ...options, agent: { ...options.agent, subagents: { max_depth: 1 } } };
  const kills = await atEveryWrite(family, async (stage, session, where) => {
    assert.equal(await prompt(stage, session, "two"), "completed", where);
    const all = await children(stage, session);
    assert.equal(all.length, 1, where);
    assert.equal(all[0]?.agent.observed, "completed", where);
    assert.equal((await notices(stage, session)).length, 1, where);
    assert.equal(await prompts(stage, all[0]?.agent.child ?? ""), 1, where);
  });
  assert.ok(kills > 12, `only ${kills} kills`);
});

Deno.test("delegate_task whose runtime is killed comes back with the one child's one answer, and no news of it (F31, GA-54, DM-113)", async () => {
  const options = { answers: [{ calls: [delegate("Count")] }, { text: "done" }, { text: "again" }] };
  const kills = await atEveryWrite(options, async (stage, session, where) => {
    assert.equal(await prompt(stage, session, "two"), "completed", where);
    const all = await children(stage, session);
    assert.deepEqual(all.map(({ status }) => status), ["succeeded"], where);
    const answers = (await results(stage, session)).map((one) => (one as { readonly answer: string }).answer);
    assert.deepEqual(answers, ["counted: 3"], where);
    assert.deepEqual(await notices(stage, session), [], where);
    const child = all[0]?.agent.child ?? "";
    assert.equal(await prompts(stage, child), 1, where);
    assert.equal((await stage.replay(child)).divergence, undefined, where);
  });
  assert.ok(kills > 12, `only ${kills} kills`);
});
