/** What a runtime does while another program holds the write lock of its store's file: real processes, real locks. */
import assert from "node:assert/strict";
import { HostConfig } from "../../schemas/config.ts";
import { limits } from "../../schemas/limits.ts";
import { loadAgent } from "../../src/host/agent_folder.ts";
import type { ActingHost } from "../../src/host/host.ts";
import { openOwner } from "../../src/host/open_host.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { onStage, type Stage, writeAgent } from "./troupe.ts";

const holder = new URL("./lock_holder.ts", import.meta.url).pathname;
const seams = createSystemSeams({ log: () => {} });
const { clock } = seams;

async function openHost(stage: Stage): Promise<ActingHost> {
  return await openOwner({
    location: stage.path("store.db"),
    config: HostConfig.parse({}),
    seams,
    env: (name) => name.startsWith("XDG_") ? stage.path(name.toLowerCase()) : undefined,
    self: { command: Deno.execPath(), args: [], env: {} },
    isAttended: true,
  });
}

/** Takes the lock in another process; gives how to let go. */
async function hold(stage: Stage): Promise<() => Promise<void>> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", holder, stage.path("store.db")],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  assert.match(new TextDecoder().decode((await reader.read()).value), /held/);
  await reader.cancel();
  return async () => {
    await child.stdin.close();
    assert.equal((await child.status).code, 0);
  };
}

Deno.test("store that another program locks is tried again: nothing is refused before 5 s, then it is store_busy, and all is written once (F07)", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage, "answers: [{ text: one }, { text: two }, { text: three }]\n");
    const host = await openHost(stage);
    try {
      const agent = await loadAgent(stage.path("agent"), { cwd: stage.folder, digest: seams.digest });
      const session = await host.createSession({
        agent: agent.definition,
        coreRevision: agent.coreRevision,
        home: { agent: agent.home, workspace: stage.path("ws") },
        title: "locked",
        servers: [],
      });
      const prompt = (key: string) => {
        const order = { session, request: { text: key }, key, fromSeq: 1, answers: false } as const;
        return host.prompt(order, () => {}).then(({ outcome }) => outcome, (error) => String(error.code));
      };
      for (const seconds of [1, 4, 6]) {
        const key = `${seconds} s`;
        const release = await hold(stage);
        const begun = clock.now();
        const given = prompt(key).then((outcome) => ({ outcome, afterMs: clock.now() - begun }));
        const enough = clock.sleepUntil(begun + seconds * 1_000);
        // The longest lock is held until somebody was told, however slow this machine is.
        await (seconds < 6 ? enough : Promise.all([enough, given]));
        await release();
        const { outcome, afterMs } = await given;
        assert.ok(
          outcome === "completed" || afterMs >= limits.storePatienceMs,
          `${outcome} after ${afterMs} ms`,
        );
        if (seconds === 6) assert.equal(outcome, "store_busy");
        assert.equal(await prompt(key), "completed", "the same key again: it was taken once");
      }
      let prompts = 0;
      for await (const page of host.readPages(session, 1)) {
        prompts += page.filter(({ type }) => type === "session.prompt").length;
      }
      assert.equal(prompts, 3);
    } finally {
      await host.close();
    }
  });
});
