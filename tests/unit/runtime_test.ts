/** What a runtime does for those who give it work. */
import assert from "node:assert/strict";
import { internCatalog } from "../../actors/library.ts";
import { passivate } from "../../src/kernel/passivate.ts";
import { openStage, settled, type Stage } from "../support/stage.ts";

/** As many other catalogs as memory keeps: whatever is not held is gone afterwards. */
function churnCatalogs(): void {
  for (let index = 0; index < 1_100; index++) {
    const hash = `sha256:${index.toString(16).padStart(64, "2")}`;
    internCatalog(hash, { epoch: 1, coreRevision: "other", entries: [] });
  }
}

async function outcomeOf(stage: Stage, session: string): Promise<string> {
  const given = await settled(stage.world, stage.runtime.prompt(session, "Go"));
  return (await settled(stage.world, given.report)).outcome;
}

const look = {
  answers: [{ calls: [{ tool: "look" }] }, { text: "Done." }, { calls: [{ tool: "look" }] }, {
    text: "Done.",
  }],
  tools: [{ name: "look" }],
};

// Proves DM-5: a session that is awake never loses the catalog that it was issued, however many others come.
Deno.test("runtime keeps the catalogs of sessions that are awake, and finds those of sessions that wake", async () => {
  const stage = await openStage(look);
  const session = await stage.session();
  churnCatalogs();
  assert.equal(await outcomeOf(stage, session), "completed");
  await stage.world.settle();
  assert.equal(passivate(stage.runtime.kernel, session), true);
  passivate(stage.runtime.kernel, session.replace("session/", "catalog/"));
  churnCatalogs();
  assert.equal(await outcomeOf(stage, session), "completed");
  assert.equal(stage.ledger.length, 2);
  assert.equal((await stage.replay(session)).divergence, undefined);
});

Deno.test("runtime refuses to relay to a session that there is not, and writes nothing", async () => {
  const stage = await openStage({});
  const session = await stage.session();
  const before = (await stage.entries(session)).length;
  const to = `session/ses_${"0".repeat(26)}`;
  await assert.rejects(
    settled(
      stage.world,
      Promise.resolve().then(() => stage.runtime.send(session, { type: "session.relay", to, text: "x" })),
    ),
    { code: "relay_target_unknown" },
  );
  assert.equal((await stage.entries(session)).length, before);
});

// K1, I11: the catalog's unit comes before the session's, so there is no session without its catalog after any crash.
Deno.test("runtime writes a session's catalog before the session", async () => {
  const stage = await openStage({});
  const session = await stage.session();
  const written = stage.handle.commits.flatMap((commit) => commit.sets.map((set) => set.key.join("/")));
  const at = (name: string) => written.findIndex((key) => key === `root/${name}`);
  assert.ok(at(session.replace("session/", "catalog/")) < at(session));
});

Deno.test("replay under strict saves and restores the state after every message (K5, K20)", async () => {
  const stage = await openStage(look);
  const session = await stage.session();
  await outcomeOf(stage, session);
  const report = await stage.replay(session, { strict: true });
  assert.deepEqual([report.divergence, report.restored], [undefined, report.cranks]);
  assert.equal((await stage.replay(session)).restored, 0);
});
