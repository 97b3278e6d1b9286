/** `troupe fork` in real processes: what lists say of a fork, its proof, its servers, and the door of an owner. */
import assert from "node:assert/strict";
import { askPolicy, assertRefused, linesOf, onStage, readScript, writeAgent } from "./troupe.ts";

Deno.test("fork goes on with another prompt and another model, and is listed, replayed, verified and exported (K24)", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage, readScript);
    await stage.write({ "agent/other.yaml": "answers: [{ text: zero }, { text: by the other model }]\n" });
    await stage.output("run", "agent", "hi", "--workspace", "ws");
    const [{ address: origin }] = linesOf(await stage.output("sessions", "--json")) as [{ address: string }];
    const entries = linesOf(await stage.output("log", "last", "--json"));
    const answer = entries.findLast(({ kind, type }) => kind === "outcome" && type === "model.generate");
    const at = Number(answer?.["seq"]) - 1;
    const made = await stage.output(
      "fork",
      "last",
      "--at",
      String(at),
      "--model",
      "scripted/other.yaml",
      "--json",
    );
    const { session, origin: from, closed } = JSON.parse(made);
    assert.deepEqual([from.address, from.seq, closed], [origin, at, [{ kind: "turn", name: "turn/1" }]]);
    const id = session.slice("session/".length);
    assert.match(await stage.output("run", "agent", "Otherwise", "--session", id), /by the other model/);
    const label = `fork of ${origin.slice("session/".length)} at ${at}`;
    assert.ok((await stage.output("sessions")).includes(label));
    assert.ok((await stage.output("tree")).includes(label));
    assert.match(await stage.output("inspect", id), new RegExp(`^Fork of ${origin} at entry ${at}\n`));
    assert.match(
      await stage.output("log", id),
      new RegExp(`checkpoint +session +fork of ${origin} at entry ${at}`),
    );
    assert.match(await stage.output("replay", id, "--strict"), /no divergence/);
    await stage.output("export", id, "-o", "fork.jsonl");
    await stage.output("export", id, "--fixture", "-o", "fx");
    await Deno.remove(stage.path("store.db"));
    assert.match(await stage.output("verify", "fx"), /^✓ fx/);
    assert.match(await stage.output("replay", "fork.jsonl"), /no divergence/);
  });
});

Deno.test("fork begins its origin's servers anew, over connections of its own (K24)", async () => {
  await onStage(async (stage) => {
    await stage.write({ "ws/README.md": "Troupe\n" });
    await stage.output("run", "demo", "Look", "--workspace", "ws", "--answer", "allow");
    const entries = linesOf(await stage.output("log", "last", "--json"));
    const prompt = entries.find(({ type }) => type === "session.prompt");
    const at = Number(prompt?.["seq"]) - 1;
    const { session } = JSON.parse(await stage.output("fork", "last", "--at", String(at), "--json"));
    const id = session.slice("session/".length);
    const run = await stage.output("run", "demo", "Look again", "--session", id, "--answer", "allow");
    assert.match(run, /✓ mcp\.files\.read_project_file/);
    const roots = linesOf(await stage.output("sessions", "--all", "--json"));
    const own = roots.filter(({ address }) => String(address).endsWith(id)).map(({ address }) => address);
    assert.deepEqual(own.sort(), [`catalog/${id}`, `connection/files@${id}`, session].sort());
  });
});

Deno.test("fork is made by the process that holds the store, beside an open question of the origin (K24)", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage, readScript);
    await stage.write(askPolicy);
    const owner = stage.start("run", "agent", "hi", "--workspace", "ws", "--answer", "wait");
    await owner.until("A question waits");
    const entries = linesOf(await stage.output("log", "last", "--json"));
    const head = String(entries.length);
    const shown = await stage.output("fork", "last", "--at", head, "--title", "Without waiting");
    assert.match(shown, /^Forked {3}session\/ses_\w+ at entry \d+: session\/ses_\w+\n/);
    assert.match(shown, /^Closed {3}question \S+: it stays with the original$/m);
    assert.match(shown, /^Go on {4}troupe run AGENT PROMPT --session ses_\w+$/m);
    assertRefused(await stage.run("fork", "last", "--at", "999"), 2, "entry_not_found");
    const [question, ...more] = linesOf(await stage.output("questions", "--json"));
    assert.equal(more.length, 0);
    await stage.output("answer", String(question?.["id"]), "allow");
    assert.equal((await owner.ended).code, 0);
  });
});
