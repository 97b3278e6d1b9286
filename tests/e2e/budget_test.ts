/** Budgets through the real `troupe`: what ends a turn, what is denied, what is shown, and what no kill resets. */
import assert from "node:assert/strict";
import { askPolicy, assertRefused, linesOf, onStage, type Stage, writeAgent } from "./troupe.ts";

const read = { tool: "read_file", arguments: { path: "a.txt" } };

function usage(inputTokens: number, outputTokens: number, costUsd?: number) {
  return { inputTokens, outputTokens, ...(costUsd === undefined ? {} : { costUsd }) };
}

function scriptOf(...answers: readonly unknown[]): string {
  return JSON.stringify({ capabilities: { parallelToolCalls: true }, answers });
}

/** Reads until its 1,000 tokens are used up. */
const thirsty = scriptOf(
  { text: "first thoughts", calls: [read], usage: usage(400, 100, 0.002) },
  { text: "second thoughts", calls: [read, read], usage: usage(500, 100) },
  { text: "never said", usage: usage(1, 1) },
);

const run = ["run", "agent", "hi", "--workspace", "ws"];

interface Shown {
  readonly budget: { readonly [field: string]: number };
  readonly spent: { readonly [field: string]: number };
  readonly left: { readonly [field: string]: number };
  readonly turn?: number;
}

async function budgetOf(stage: Stage, name = "last"): Promise<Shown> {
  return linesOf(await stage.output("budget", name, "--json"))[0] as unknown as Shown;
}

Deno.test("run ends a turn whose budget is used up: what there is stays, one line says why, and the next prompt is refused", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage, thirsty);
    const ended = await stage.run(...run, "--budget", "tokens=1000,tool_calls=2");
    assertRefused(ended, 1, "budget_exhausted", "The turn 1 ended as failed", "1100 of 1000 tokens spent");
    assert.match(
      ended.out,
      /\nfirst thoughts\n(.*\n)*\nsecond thoughts\n(.*\n)* {2}✓ read_file .*alpha\nturn 1 failed: 2 steps, 2 calls/,
    );
    const again = await stage.run("run", "agent", "more", "--session", "last");
    assertRefused(again, 1, "budget_exhausted", "No turn began: The budget of the session is used up");
    assert.equal(again.out, "");
    const { budget, spent, left } = await budgetOf(stage);
    assert.deepEqual([budget, left], [{ tokens: 1_000, tool_calls: 2 }, { tokens: 0, tool_calls: 0 }]);
    assert.deepEqual([spent["tokens"], spent["cost_usd"], spent["tool_calls"]], [1_100, 0.002, 2]);
    const shown = await stage.output("budget", "last");
    assert.match(shown, /^FIELD +LIMIT +SPENT +HELD BY CHILDREN +LEFT\ntokens +1000 +1100 +0 +0\n/);
    assert.match(shown, /\nThe cost is not known for 1 of 2 model calls\n$/);
    assert.match(
      await stage.output("invocations", "last"),
      /call\/1\.1 +read_file .* denied .*leaves 0 tool calls/,
    );
    assert.match(await stage.output("inspect", "last"), /\nBudget\nFIELD .*\ntokens +1000 +1100 /);
    assert.match(await stage.output("replay", "last"), /no divergence/);
  });
});

Deno.test("budget of agent.yaml and of the command line: the stricter one counts, field by field", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage, scriptOf({ text: "done" }));
    const agent = await Deno.readTextFile(stage.path("agent/agent.yaml"));
    await stage.write({ "agent/agent.yaml": `${agent}budget: { tokens: 1000, tool_calls: 2 }\n` });
    await stage.output(...run, "--budget", "tokens=5000,tool_calls=1,wall_ms=60000");
    assert.deepEqual((await budgetOf(stage)).budget, { tokens: 1_000, wall_ms: 60_000, tool_calls: 1 });
  });
});

Deno.test("budget of a session without one shows what was spent", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage, scriptOf({ text: "done", usage: usage(7, 5, 0.25) }));
    await stage.output(...run);
    const { code, out, err } = await stage.run("budget", "last");
    assert.deepEqual([code, err], [0, "The session has no budget; this is what it spent\n"]);
    assert.match(out, /\ntokens +- +12 +0 +-\ncost_usd +- +0\.25 +0 +-\n/);
    assert.doesNotMatch(out, /not known/);
    assertRefused(await stage.run("budget", "ses_nobody"), 2, "root_not_found");
  });
});

Deno.test("run refuses a budget that is none", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage, scriptOf({ text: "done" }));
    for (
      const [given, ...parts] of [
        ["token=5", 'has no field "token": did you mean tokens?'],
        ["tokens", "needs a number after tokens="],
        ["tokens=many", "needs a number after tokens="],
        ["tokens=1,tokens=2", "gives tokens twice"],
        ["tokens=0", "cannot take tokens"],
        ["tool_calls=1.5", "cannot take tool_calls"],
      ] as const
    ) {
      assertRefused(await stage.run(...run, "--budget", given), 2, "option_invalid", ...parts);
    }
    await stage.output(...run, "--budget", "tokens=5, cost_usd=0.5");
    const later = await stage.run("run", "agent", "more", "--session", "last", "--budget", "tokens=9");
    assertRefused(later, 2, "option_invalid", "--budget cannot be changed in a session");
  });
});

Deno.test("budget is told by the process that holds the store, and is not reset by its death", async () => {
  await onStage(async (stage) => {
    await writeAgent(
      stage,
      scriptOf(
        { text: "reading", calls: [read], usage: usage(300, 0) },
        { text: "finished", usage: usage(300, 0) },
        { text: "never said" },
      ),
    );
    await stage.write(askPolicy);
    const owner = stage.start(...run, "--answer", "wait", "--budget", "tokens=500");
    await owner.until("A question waits");
    const running = await budgetOf(stage);
    assert.deepEqual([running.turn, running.spent["tokens"], running.left["tokens"]], [1, 300, 200]);
    assert.match(await stage.output("budget", "last"), /\nTurn 1 has not ended: it may spend more\n$/);
    owner.signal("SIGKILL");
    await owner.ended;
    assert.deepEqual((await budgetOf(stage)).left, { tokens: 200 });
    const ended = await stage.run("run", "agent", "more", "--session", "last", "--answer", "allow");
    assertRefused(ended, 1, "budget_exhausted", "600 of 500 tokens spent");
    assert.match(ended.out, /finished/);
    const { spent, turn } = await budgetOf(stage);
    assert.deepEqual([turn, spent["tokens"], spent["tool_calls"], spent["model_calls"]], [
      undefined,
      600,
      1,
      2,
    ]);
    assert.match(await stage.output("replay", "last"), /no divergence/);
  });
});

const terminal = {
  name: "hand",
  model: "scripted/script.yaml",
  tools: ["terminal"],
  capabilities: ["terminal.exec"],
};

function command(...argv: readonly string[]) {
  return { tool: "terminal", arguments: { argv } };
}

Deno.test("budget bounds the processes that an agent starts: those that are too many are denied, and not run", async () => {
  await onStage(async (stage) => {
    await stage.write({
      "agent/agent.yaml": JSON.stringify(terminal),
      "agent/script.yaml": scriptOf(
        { calls: [command("touch", "one"), command("touch", "two")] },
        { text: "so be it", expect: "denied: The budget of the session leaves 0 processes" },
      ),
      "ws/a.txt": "alpha\n",
    });
    const out = await stage.output(...run, "--answer", "allow", "--budget", "processes=1,tool_calls=9");
    assert.match(out, /✗ terminal {2}denied {2}The budget of the session leaves 0 processes/);
    const names = [...Deno.readDirSync(stage.path("ws"))].map(({ name }) => name).sort();
    assert.deepEqual(names, ["a.txt", "one"]);
    const { spent, left } = await budgetOf(stage);
    assert.deepEqual([spent["processes"], spent["tool_calls"], left["tool_calls"]], [1, 1, 8]);
  });
});

Deno.test("budget of wall time ends the turn and what it runs, and counts as it was", async () => {
  await onStage(async (stage) => {
    await stage.write({
      "agent/agent.yaml": JSON.stringify(terminal),
      "agent/script.yaml": scriptOf({ text: "sleeping", calls: [command("sleep", "600")] }, {
        text: "never said",
      }),
      "ws/a.txt": "alpha\n",
    });
    const ended = await stage.run(...run, "--answer", "allow", "--budget", "wall_ms=2000");
    assertRefused(ended, 1, "budget_exhausted", "of 2000 ms of wall time spent");
    assert.match(ended.out, /sleeping/);
    assert.doesNotMatch(ended.out, /never said/);
    const { spent, left } = await budgetOf(stage);
    assert.ok((spent["wall_ms"] ?? 0) >= 2_000 && left["wall_ms"] === 0, JSON.stringify(spent));
  });
});
