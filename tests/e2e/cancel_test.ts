/** `troupe cancel` through the owner's door: what it stops, what it says of it, and how it ends. */
import assert from "node:assert/strict";
import { askPolicy, assertRefused, linesOf, onStage, type Stage, writeAgent } from "./troupe.ts";

const script = `answers:
  - text: reading
    calls: [{ tool: read_file, arguments: { path: a.txt } }, { tool: read_file, arguments: { path: b.txt } }]
  - text: finished
`;
const run = ["run", "agent", "hi", "--workspace", "ws", "--answer", "wait"];

/** A process that holds the store, in a turn whose first call waits for a person. */
async function startOwner(stage: Stage) {
  await writeAgent(stage, script);
  await stage.write(askPolicy);
  const owner = stage.start(...run);
  await owner.until("A question waits");
  return owner;
}

Deno.test("cancel settles an open question, ends the turn, and says so when it has ended (ask 4, ask 5, ask 17)", async () => {
  await onStage(async (stage) => {
    const owner = await startOwner(stage);
    const [report] = linesOf(await stage.output("cancel", "last", "--json"));
    const { session, ...rest } = report as { session: string };
    assert.match(session, /^session\/ses_/);
    assert.deepEqual(rest, {
      result: "stopped",
      scope: "turn",
      stopped: [
        { kind: "call", address: "turn/1/call/0.0", label: "read_file", ended: "canceled" },
        { kind: "call", address: "turn/1/call/0.1", label: "read_file", ended: "canceled" },
        { kind: "turn", address: "turn/1", ended: "canceled" },
      ],
      undecided: [],
      goesOn: [],
      notFound: [],
    });
    assertRefused(await owner.ended, 1, "turn_canceled");
    const entries = linesOf(await stage.output("log", "last", "--json"));
    const cancel = entries.find(({ kind, type }) => kind === "input" && type === "session.cancel");
    const inOneCommit = entries.filter(({ cause }) => cause === cancel?.["seq"]).map(({ kind, type }) =>
      `${kind} ${type}`
    );
    assert.ok(inOneCommit.includes("note dropped"), inOneCommit.join());
    assert.equal(inOneCommit.filter((line) => line.startsWith("reply")).length, 2, inOneCommit.join());
    assert.match(await stage.output("replay", "last", "--strict"), /no divergence/);
  });
});

Deno.test("cancel of one call lets its turn go on, and says of another that it is not there (ask 4)", async () => {
  await onStage(async (stage) => {
    const owner = await startOwner(stage);
    assert.equal(
      await stage.output("cancel", "last", "--call", "0.0"),
      "Stopped    turn/1/call/0.0 (read_file): canceled\n",
    );
    const missing = await stage.run("cancel", "last", "--call", "turn/1/call/0.7");
    assertRefused(missing, 1, "nothing_to_cancel", "no call/0.7 runs in session/");
    assert.equal(missing.out, "Not there  call/0.7\n");
    await owner.until("troupe answer");
    const [question] = linesOf(await stage.output("questions", "--json"));
    await stage.output("answer", String(question?.["id"]), "allow");
    const { code, out } = await owner.ended;
    assert.equal(code, 0, out);
    assert.match(out, /✗ read_file {2}canceled/);
  });
});

Deno.test("cancel of a session is for good, and of what does not run ends badly (ask 4)", async () => {
  await onStage(async (stage) => {
    const owner = await startOwner(stage);
    const other = stage.start(...run);
    await other.until("A question waits");
    const sessions = linesOf(await stage.output("sessions", "--json")).map(({ address }) => String(address));
    const [first = "", second = ""] = sessions.filter((address) => address.startsWith("session/"));
    assert.match(await stage.output("cancel", second, "--scope", "session"), /Stopped {4}turn\/1: canceled/);
    assertRefused(await other.ended, 1, "turn_canceled");
    const late = await stage.run("run", "agent", "again", "--session", second);
    assertRefused(late, 1, "session_closed");
    assertRefused(await stage.run("cancel", second), 1, "nothing_to_cancel");
    assert.equal(await stage.output("cancel", second, "--scope", "subtree"), "Nothing of it was under way\n");
    assertRefused(await stage.run("cancel", first, "--call", "x"), 2, "argument_invalid");
    assertRefused(
      await stage.run("cancel", first, "--call", "0.0", "--scope", "turn"),
      2,
      "argument_invalid",
    );
    await stage.output("cancel", first, "--scope", "subtree");
    assertRefused(await owner.ended, 1, "turn_canceled");
  });
});
