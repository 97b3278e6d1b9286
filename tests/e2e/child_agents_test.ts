/** Child agents through the command: governed, bounded, spoken to by their parent alone, gone with all they started. */
import assert from "node:assert/strict";
import type { Entry } from "../../schemas/entry.ts";
import { limits } from "../../schemas/limits.ts";
import { ToolRecords } from "../../schemas/record.ts";
import {
  callOf,
  declare,
  entriesOf,
  findMarked,
  type Line,
  linesIn,
  markOf,
  planned,
  sessionIn,
  testProcesses,
  trustAgent,
  until,
  untilCalled,
  withOwner,
} from "./mcp_stage.ts";
import { assertRefused, linesOf, onStage, type Stage } from "./troupe.ts";

/** Writes an agent: its script, and one for children, whose model is named as a fallback. */
async function writeParent(
  stage: Stage,
  { agent, answers, child = [{ text: "counted: 3" }] }: {
    readonly agent: Line;
    readonly answers: readonly unknown[];
    readonly child?: readonly unknown[];
  },
): Promise<void> {
  await stage.write({
    "agent/agent.yaml": JSON.stringify({
      name: "boss",
      model: "scripted/script.yaml",
      model_fallbacks: ["scripted/child.yaml"],
      capabilities: ["agents.spawn:boss"],
      ...agent,
    }),
    "agent/script.yaml": JSON.stringify({ answers }),
    "agent/child.yaml": JSON.stringify({ answers: child }),
    "ws/a.txt": "alpha\n",
  });
}

function delegate(goal: string, more: Line = {}) {
  return callOf("delegate_task", { goal, model: "scripted/child.yaml", ...more });
}

/** The sessions of the store, as they are listed. */
async function sessions(stage: Stage): Promise<Line[]> {
  return linesOf(await stage.output("sessions", "--json"));
}

const run = ["run", "agent", "go", "--workspace", "ws"];

Deno.test("agent whose main profile allows only subagent_spawn: frozen, started, completed, reserved, succeeded (CM-125)", async () => {
  await onStage(async (stage) => {
    // Every agent of the tree plays this: the deepest may begin none, and says so.
    await writeParent(stage, {
      agent: {
        tools: ["subagent_spawn"],
        profiles: { main: { allowed_tool_names: ["subagent_spawn"] } },
        subagents: { enabled: true, allow_nested: true, max_depth: 3 },
      },
      answers: [
        { calls: [callOf("subagent_spawn", { content: "Go one deeper" })] },
        ...Array.from({ length: 2 }, () => ({ text: "done" })),
      ],
    });
    // The process that holds the store goes on with what a command leaves behind.
    await withOwner(stage, async ({ host }) => {
      const ran = await stage.run(...run);
      assert.equal(ran.code, 0, `${ran.out}\n${ran.err}`);
      const session = sessionIn(ran);
      const records = ToolRecords.loose().parse(JSON.parse(await stage.output("inspect", session, "--json")));
      const [definition] = records.definitions.filter(({ toolName }) => toolName === "subagent_spawn");
      assert.deepEqual([definition?.governance, definition?.toolKind], ["reserved", "effect_intent"]);
      assert.equal(records.bindings.filter(({ definition: id }) => id === definition?.id).length, 1);
      const [invocation, ...others] = records.invocations;
      assert.deepEqual([others.length, invocation?.definition, invocation?.status], [
        0,
        definition?.id,
        "succeeded",
      ]);
      assert.ok((invocation?.finishedAt ?? 0) >= (invocation?.startedAt ?? Infinity));
      const entries = await entriesOf(stage, session);
      const places = ["tools.bound", "tool.call"].map((type) =>
        entries.findIndex((one) => one["type"] === type)
      );
      assert.ok(
        (places[0] ?? -1) >= 0 && (places[0] ?? 0) < (places[1] ?? 0),
        "frozen before it was started",
      );
      const family: Entry[][] = [];
      await until("three children have answered", async () => {
        family.length = 0;
        for (const { kind, parent, address } of await host.listRoots()) {
          if (kind === "session" && parent !== undefined) family.push(await allOf(host.readPages(address)));
        }
        return family.filter((child) => child.some(({ type }) => type === "session.answered")).length === 3;
      });
      const depths = family.map(([created]) =>
        (created?.body as { readonly input: { readonly scope: { readonly depth: number } } }).input.scope
          .depth
      );
      assert.deepEqual(depths.sort(), [1, 2, 3]);
    });
  });
});

async function allOf(pages: AsyncIterable<readonly Entry[]>): Promise<Entry[]> {
  const all: Entry[] = [];
  for await (const page of pages) all.push(...page);
  return all;
}

Deno.test("delegate_task through the command: the child's session is listed and read, and nobody else prompts it (CM-107, DM-128)", async () => {
  await onStage(async (stage) => {
    await writeParent(stage, {
      agent: { tools: ["delegate_task"] },
      answers: [{ calls: [delegate("Count the files")] }, { text: "there are 3" }, { text: "again" }],
    });
    const ran = await stage.run(...run);
    assert.equal(ran.code, 0, `${ran.out}\n${ran.err}`);
    const [parent, child] = await sessions(stage);
    assert.equal(child?.["title"], "Count the files");
    const id = String(child?.["address"]).slice("session/".length);
    assert.match(await stage.output("sessions"), /boss .*\n.*> Count the files/);
    assert.match(await stage.output("log", id), /counted: 3/);
    assertRefused(
      await stage.run("run", "agent", "do this", "--session", id),
      2,
      "session_not_yours",
      String(parent?.["address"]),
    );
    // The last session is the last that a person may go on with.
    const again = await stage.run("run", "agent", "go on", "--session", "last");
    assert.equal(`session/${sessionIn(again)}`, parent?.["address"]);
    await stage.output("replay", id);
  });
});

Deno.test("run waits for what a child was asked, and not for what it might be asked next (CM-102)", async () => {
  await onStage(async (stage) => {
    await writeParent(stage, {
      agent: { tools: ["subagent_spawn"], subagents: { max_depth: 1 } },
      answers: [{ calls: [callOf("subagent_spawn", { content: "Count" })] }, { text: "begun" }],
    });
    const ran = await stage.run(...run);
    assert.equal(ran.code, 0, `${ran.out}\n${ran.err}`);
    const child = (await sessions(stage)).find(({ parent }) => parent !== undefined);
    const told = await entriesOf(stage, String(child?.["address"]));
    assert.ok(told.some(({ type }) => type === "session.answered"));
  });
});

testProcesses(
  "50 children use their parent's servers over connections of their own, all of which are gone in the end (ask 1, DM-128, DM-126)",
  async (stage) => {
    const [ledger, started, gate] = ["ledger", "started", "gate"].map((name) => stage.path(name));
    assert.ok(ledger !== undefined && started !== undefined && gate !== undefined);
    const count = 50;
    await writeParent(stage, {
      agent: {
        tools: ["delegate_task"],
        capabilities: ["agents.spawn:boss", "mcp.connect:docs", "mcp.call:docs"],
        subagents: { per_turn_max: count, running_max: 4 },
      },
      answers: [
        { calls: [callOf("docs__search")] },
        { calls: Array.from({ length: count }, (_, n) => delegate(`part ${n}`)) },
        { calls: [callOf("docs__wait", { file: gate })] },
        { text: "finished" },
      ],
      child: [{ calls: [callOf("docs__search")] }, { text: "looked" }],
    });
    await declare(stage, { docs: planned(stage, { name: "docs", ledger, started }) });
    await stage.output(...trustAgent);
    const running = stage.start(...run, "--answer", "allow");
    await untilCalled(ledger, 1);
    const baseLine = findMarked(markOf(stage)).length;
    assert.equal(baseLine, 1);
    let most = 0;
    await until(`${count} children have called`, async () => {
      most = Math.max(most, findMarked(markOf(stage)).length);
      return (await linesIn(ledger)).length >= count + 2;
    });
    await until("only the parent's server is left", () => findMarked(markOf(stage)).length === baseLine);
    assert.equal((await linesIn(started)).length, count + 1);
    assert.ok(most > 1 && most <= baseLine + limits.agentsRunningAllowedMax, `${most} at once`);
    await Deno.writeTextFile(gate, "");
    const ended = await running.ended;
    assert.equal(ended.code, 0, ended.err);
    assert.deepEqual(findMarked(markOf(stage)), []);
  },
);

testProcesses(
  "cancel of a subtree ends three children and their commands, the youngest first, and nothing of them is left (F32, asks 2, 4)",
  async (stage) => {
    const endless = `while :; do sleep 0.2; done; : ${markOf(stage)}`;
    await writeParent(stage, {
      agent: {
        tools: ["delegate_task", "terminal"],
        capabilities: ["agents.spawn:boss", "terminal.exec", "shell"],
        subagents: { running_max: 3 },
      },
      answers: [{ calls: ["one", "two", "three"].map((goal) => delegate(goal)) }, { text: "never" }],
      child: [{ calls: [callOf("terminal", { argv: ["sh", "-c", endless], timeout_ms: 100_000 })] }, {
        text: "never",
      }],
    });
    const running = stage.start(...run, "--answer", "allow");
    await until("three commands run", () => findMarked(markOf(stage)).length >= 3);
    const canceled = await stage.run("cancel", "last", "--scope", "subtree", "--json");
    assert.equal(canceled.code, 0, canceled.err);
    // The answer comes when nothing is left, not before.
    assert.deepEqual(findMarked(markOf(stage)), []);
    const { stopped } = JSON.parse(canceled.out) as { readonly stopped: readonly Line[] };
    const kinds = stopped.map(({ kind, ended }) => `${kind} ${ended}`);
    assert.deepEqual(kinds.filter((one) => one.startsWith("task")), Array(3).fill("task canceled"));
    assert.equal((await running.ended).code, 1);
    const entries = await entriesOf(stage, "last");
    const born = entries.filter(({ kind, type }) => kind === "input" && type === "task.opened").map(senderOf);
    const told = entries.filter(({ kind, type }) => kind === "message" && type === "task.cancel")
      .map(({ body }) => (body as { readonly to: string }).to);
    assert.deepEqual(told, born.toReversed());
  },
);

function senderOf({ body }: Line): string {
  return (body as { readonly sender: string }).sender;
}

/** A child that writes a file, which a person is asked about, after its parent's turn. */
const writing = [
  { text: "writing", calls: [callOf("write_file", { path: "b.txt", content: "hello\n" })] },
  { text: "written" },
];

Deno.test("question of a child that works on after the turn is answered by whoever waits for it (ask 15)", async () => {
  await onStage(async (stage) => {
    await writeParent(stage, {
      agent: { tools: ["delegate_task", "write_file"], capabilities: ["agents.spawn:boss", "fs.write"] },
      answers: [{ calls: [delegate("Write b", { notify_policy: "silent" })] }, { text: "It works on" }],
      child: writing,
    });
    const { code, out, err } = await stage.run(...run, "--answer", "allow");
    assert.equal(code, 0, `${out}\n${err}`);
    assert.equal(await Deno.readTextFile(stage.path("ws/b.txt")), "hello\n");
    assert.match(`${out}${err}`, /task tsk_\w+ succeeded: Write b: /);
  });
});

Deno.test("tree shows a child below the task that runs it, how that ended, and what each spent of its budget", async () => {
  await onStage(async (stage) => {
    await writeParent(stage, {
      agent: { tools: ["delegate_task"], budget: { tool_calls: 5, children: 2 } },
      answers: [{ calls: [delegate("Count")] }, { text: "done" }],
    });
    const { code, out, err } = await stage.run(...run);
    assert.equal(code, 0, `${out}\n${err}`);
    const lines = linesOf(await stage.output("tree", "--json"));
    const at = (kind: string, depth: number) =>
      lines.find(({ address, depth: own }) => String(address).startsWith(kind) && own === depth);
    const [parent, task, child] = [at("session/", 0), at("task/", 1), at("session/", 2)];
    assert.deepEqual(parent?.["budget"], {
      tool_calls: { spent: 1, limit: 5 },
      children: { spent: 1, limit: 2 },
    });
    assert.deepEqual([task?.["state"], child?.["state"]], ["succeeded", "closed"]);
    assert.equal(
      lines.filter(({ depth, address }) => depth === 0 && String(address).startsWith("session/")).length,
      1,
    );
    assert.match(await stage.output("tree"), /tool_calls 1\/5, children 1\/2/);
  });
});
