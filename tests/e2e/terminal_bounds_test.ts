/** The shell tool through the real `troupe`: whom it asks before it runs, what it may take, what is known of it after. */
import assert from "node:assert/strict";
import type { Line } from "./mcp_stage.ts";
import { linesOf, onStage, type Stage } from "./troupe.ts";

async function writeAgent(stage: Stage, ...capabilities: readonly string[]): Promise<void> {
  await stage.write({
    "agent/agent.yaml": JSON.stringify({
      name: "hand",
      model: "scripted/script.yaml",
      tools: ["terminal"],
      capabilities,
    }),
    "agent/script.yaml": "answers: [{ text: done }]\n",
    "ws/a.txt": "alpha\n",
  });
}

/** One call of the terminal; gives what is known of it. */
async function call(stage: Stage, given: Line, answer = "allow"): Promise<Line> {
  const place = ["--workspace", "ws", "--answer", answer, "--json"];
  const ended = await stage.run("call", "agent", "terminal", JSON.stringify(given), ...place);
  const [told] = linesOf(ended.out);
  assert.ok(told, ended.err);
  return told;
}

function exists(path: string): Promise<boolean> {
  return Deno.lstat(path).then(() => true, () => false);
}

Deno.test("terminal, the shell tool, runs nothing before it has asked for permission: capability, shell, a person (LC-14)", async () => {
  const touch = { argv: ["touch", "marker"] };
  const shell = { shell: "touch marker" };
  const cases: readonly (readonly [capabilities: string[], given: Line, answer: string, outcome: string])[] =
    [
      [[], touch, "allow", "denied"],
      [["fs.write"], touch, "allow", "denied"],
      [["terminal.exec"], shell, "allow", "denied"],
      [["terminal.exec"], { argv: ["sh", "-c", "touch marker"] }, "allow", "denied"],
      [["terminal.exec"], touch, "deny", "denied"],
      [["terminal.exec", "shell"], shell, "deny", "denied"],
      [["terminal.exec"], touch, "allow", "succeeded"],
      [["terminal.exec", "shell"], shell, "allow", "succeeded"],
    ];
  for (const [capabilities, given, answer, outcome] of cases) {
    await onStage(async (stage) => {
      await writeAgent(stage, ...capabilities);
      const told = await call(stage, given, answer);
      assert.equal(told["outcome"], outcome, JSON.stringify([capabilities, given, answer, told]));
      assert.equal(await exists(stage.path("ws/marker")), outcome === "succeeded");
    });
  }
});

Deno.test("terminal in the foreground takes no more time than 120 s, and gives no more than 50,000 characters (LC-33)", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage, "terminal.exec", "shell");
    const tooLong = await call(stage, { argv: ["echo"], timeout_ms: 120_001 });
    const { code } = tooLong["failure"] as { readonly code: string };
    assert.deepEqual([tooLong["attempts"], code], [0, "arguments_invalid"], JSON.stringify(tooLong));
    const longest = await call(stage, { argv: ["echo"], timeout_ms: 120_000 });
    assert.equal(longest["outcome"], "succeeded", JSON.stringify(longest));
    const loud = await call(stage, { shell: "seq 100000 200000; seq 300000 400000 >&2" });
    const text = String(loud["text"]);
    assert.equal(loud["outcome"], "succeeded", text);
    assert.ok(text.length <= 50_000, String(text.length));
    assert.ok(text.includes("199000"), text.slice(0, 500));
  });
});

/** Every text and number in a value. */
function leaves(value: unknown): readonly (string | number)[] {
  if (typeof value === "string" || typeof value === "number") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(leaves) : [];
}

Deno.test("records of a command hold what an auditor needs, and nothing by which its process is known (DM-100)", async () => {
  if (Deno.build.os !== "linux") return;
  await onStage(async (stage) => {
    await writeAgent(stage, "terminal.exec", "shell");
    const told = await call(stage, {
      shell:
        'echo $$ > pid; cat /proc/$$/stat > stat; echo "$TROUPE_SPAWN" > spawn; echo "$TROUPE_OWNER" > owner',
    });
    assert.equal(told["outcome"], "succeeded", JSON.stringify(told));
    const read = async (name: string) => (await Deno.readTextFile(stage.path(`ws/${name}`))).trim();
    // Behind the name in brackets: the 22nd field is when it began.
    const started = (await read("stat")).split(") ")[1]?.split(" ")[19] ?? "";
    const secretive = [await read("pid"), started, await read("spawn"), await read("owner")];
    assert.ok(secretive.every((one) => one !== ""), JSON.stringify(secretive));
    const log = await stage.output("log", "last", "--json");
    const known = leaves(linesOf(log)).map(String);
    for (const one of secretive) assert.equal(known.includes(one), false, one);
    for (const one of secretive.slice(2)) assert.equal(log.includes(one), false, one);
    assert.match(log, /"command\.started"[^\n]*"environment":\[/);
    assert.match(log, /"command\.ended"[^\n]*"exitCode":0/);
    // What was noted of it beside the store, for the case that the runtime dies, went with it.
    assert.equal(await exists(stage.path("store.db.children")), false);
  });
});
