/** Children that can be spoken to: begun, bounded, waited for, spoken to, listed, ended. */
import assert from "node:assert/strict";
import { runnerOf } from "../../actors/governance.ts";
import { reservedNames } from "../../actors/naming.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { Json } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import type { Child } from "../../src/agents/agent_desk.ts";
import { builtinSources } from "../../src/tools/builtin.ts";
import { quarantine } from "../../src/kernel/poison.ts";
import { call, children, type FamilyOptions, notices, openFamily, play, results } from "../support/family.ts";
import { settled, type Stage, type ToolSketch } from "../support/stage.ts";

type Line = { readonly [key: string]: Json };

/** A tool that returns when the test lets it. Only children wait in it. */
function gate(): { readonly tool: ToolSketch; readonly open: () => void; readonly entered: () => number } {
  const waiting: (() => void)[] = [];
  let entered = 0;
  const work = () => {
    entered += 1;
    return new Promise<string>((resolve) => waiting.push(() => resolve("open")));
  };
  return {
    tool: { name: "hold", effect: "idempotent", timeoutMs: limits.toolCallDurationMsMax, work },
    open: () => {
      for (const go of waiting.splice(0)) go();
    },
    entered: () => entered,
  };
}

/** A call that children make, and only they: begin children is what their parent does in this place. */
function spawn(content: string, more: Line = {}) {
  return call("subagent_spawn", { content, ...more });
}

/**
 * Parent and children play one script. A profile of children sees `hold` and nothing else, so that what a script calls
 * besides is refused to them, and what they call is refused to their parent.
 */
const profiles = {
  main: { allowed_tool_names: ["subagent_*", "delegate_task"] },
  worker: { allowed_tool_names: ["hold"], default_subagent: true },
};

function openOffice(answers: readonly unknown[], more: Partial<FamilyOptions> = {}): Promise<Stage> {
  return openFamily({ answers, tools: [gate().tool], ...more, agent: { profiles, ...more.agent } });
}

async function lines(stage: Stage, session: RootAddress): Promise<readonly Line[]> {
  return await results(stage, session) as readonly Line[];
}

/** The results of one tool. */
async function resultsOf(stage: Stage, session: RootAddress, field: string): Promise<readonly Line[]> {
  return (await lines(stage, session)).filter((one) => typeof one === "object" && field in one);
}

function standing({ agent, status }: Child): string {
  return `${status} ${agent.observed} ${agent.close}`;
}

Deno.test("subagent_spawn says that a child is there only once its session is, and names it (CM-102, CM-105, CM-124, DM-128)", async () => {
  const stage = await openOffice([{ calls: [spawn("Count")] }, { text: "begun" }]);
  const session = await stage.session();
  const report = await play(stage, session);
  assert.equal(report.outcome, "completed", JSON.stringify(report));
  const [result = {}] = await lines(stage, session);
  const [child] = await children(stage, session);
  assert.ok(child !== undefined);
  assert.equal(`session/${String(result["child_id"])}`, child.agent.child);
  assert.equal(result["task_run_id"], child.id);
  assert.deepEqual([result["turn_id"], result["scope"], result["depth"]], ["turn/1", "conversation", 1]);
  const [born] = await stage.entries(child.agent.child);
  const { input } = born?.body as { readonly input: { readonly [key: string]: Line } };
  assert.deepEqual(input["parent"], { task: child.address, session, path: ["boss", "Count"] });
  assert.deepEqual([input["scope"]?.["depth"], input["scope"]?.["profile"]], [1, "worker"]);
  assert.equal(input["principal"]?.["kind"], "agent");
  assert.notEqual(input["catalog"], `catalog/${session.slice("session/".length)}`);
});

Deno.test("subagent_spawn whose child cannot be made reports no success, and leaves none (CM-124)", async () => {
  const stage = await openOffice([{ calls: [spawn("Count")] }, { text: "not begun" }]);
  const session = await stage.session();
  // The name of its session is taken, by something that is no child.
  const { kernel } = stage.runtime;
  const records = kernel.records;
  const known = new Set(records.keys());
  const set = records.set.bind(records);
  records.set = (address, record) => {
    if (address.startsWith("session/") && !known.has(address)) throw new Error("no room");
    return set(address, record);
  };
  await play(stage, session);
  records.set = set;
  assert.match(JSON.stringify(await lines(stage, session)), /tool_failed/);
  const [child] = await children(stage, session);
  assert.equal(child?.status, "failed");
  assert.equal(child?.agent.isMade, false);
  assert.equal(records.has(child?.agent.child ?? ""), false);
});

Deno.test("turn begins four children, two of which run at once, and is told why there is no fifth (DM-126)", async () => {
  const { tool, open, entered } = gate();
  const goals = ["a", "b", "c", "d", "e"].map((goal) => spawn(goal));
  const stage = await openOffice([{ calls: [...goals, call("hold")] }, { text: "done" }], { tools: [tool] });
  const session = await stage.session();
  assert.equal((await play(stage, session)).outcome, "completed");
  const told = await lines(stage, session);
  assert.deepEqual(told.slice(0, 4).map((one) => one["task_status"]), [
    "running",
    "running",
    "queued",
    "queued",
  ]);
  assert.match(JSON.stringify(told[4]), /agent_limit.*This turn has begun 4 child agents/);
  assert.equal(entered(), 2);
  const standings = async () => (await children(stage, session)).map(standing);
  assert.deepEqual(await standings(), [
    "running running open",
    "running running open",
    "queued idle open",
    "queued idle open",
    "failed interrupted closed",
  ]);
  open();
  await stage.world.settle();
  assert.equal(entered(), 4);
  open();
  await stage.world.settle();
  assert.deepEqual((await standings()).slice(0, 4), Array(4).fill("running completed open"));
  // Another turn may begin others.
  assert.equal((await children(stage, session)).length, 5);
});

Deno.test("agent.yaml may allow a turn more children, and more of them at once (DM-126)", async () => {
  const { tool, open, entered } = gate();
  const goals = ["a", "b", "c", "d", "e"].map((goal) => spawn(goal));
  const stage = await openOffice([{ calls: [...goals, call("hold")] }, { text: "done" }], {
    tools: [tool],
    agent: { subagents: { per_turn_max: 5, running_max: 3 } },
  });
  await play(stage, await stage.session());
  assert.equal(entered(), 3);
  open();
  await stage.world.settle();
  assert.equal(entered(), 5);
});

Deno.test("subagent_wait comes back when the child is done, or the time is over, and what it told is no news (CM-102, CM-103, DM-121)", async () => {
  const { tool, open } = gate();
  const stage = await openOffice([
    { calls: [spawn("a"), call("hold")] },
    { text: "begun" },
    { text: "tell me" },
  ], { tools: [tool] });
  const session = await stage.session();
  await play(stage, session);
  const [child] = await children(stage, session);
  assert.equal(child?.agent.observed, "running");
  const wait = (seconds: number) =>
    stage.runtime.call(session, {
      tool: "subagent_wait",
      arguments: { child_id: child?.agent.child ?? "", timeout_seconds: seconds },
    });
  const late = await settled(stage.world, wait(5));
  await stage.world.advance(5_000);
  await settled(stage.world, late.report);
  const [timedOut] = await resultsOf(stage, session, "timed_out");
  assert.deepEqual([timedOut?.["timed_out"], timedOut?.["observed_status"]], [true, "running"]);
  const given = await settled(stage.world, wait(60));
  open();
  await settled(stage.world, given.report);
  const [, done] = await resultsOf(stage, session, "timed_out");
  assert.deepEqual(
    [done?.["timed_out"], done?.["observed_status"], done?.["derived_close_status"], done?.["answer"]],
    [false, "completed", "open", "begun"],
  );
  await play(stage, session, "and?");
  assert.deepEqual(await notices(stage, session), []);
});

Deno.test("child's answer that no result told is news, once, before the next model call (CM-102, DM-121)", async () => {
  const { tool, open } = gate();
  const stage = await openOffice([
    { calls: [spawn("a"), call("hold")] },
    { text: "begun" },
    { text: "heard" },
    { text: "quiet" },
  ], { tools: [tool] });
  const session = await stage.session();
  await play(stage, session);
  open();
  await stage.world.settle();
  for (const text of ["what is new?", "and now?"]) {
    const report = await play(stage, session, text);
    assert.equal(report.outcome, "completed", JSON.stringify(report));
  }
  const told = await notices(stage, session);
  assert.equal(told.length, 1);
  assert.match(told[0] ?? "", /answered, outcome completed.*\na\nbegun$/s);
});

/** Plays a host's call of a tool about children to its end. */
async function ask(stage: Stage, session: RootAddress, tool: string, given: Line): Promise<Line> {
  const { report } = await settled(stage.world, stage.runtime.call(session, { tool, arguments: given }));
  await settled(stage.world, report);
  return (await lines(stage, session)).at(-1) ?? {};
}

async function ids(stage: Stage, session: RootAddress): Promise<readonly string[]> {
  return (await children(stage, session)).map(({ agent }) => agent.child);
}

Deno.test("subagent_wait for several comes back when every one is terminal, and not before (CM-108)", async () => {
  const { tool, open } = gate();
  const stage = await openOffice([{ calls: [spawn("a"), spawn("b"), spawn("c"), call("hold")] }, {
    text: "ok",
  }], {
    tools: [tool],
  });
  const session = await stage.session();
  await play(stage, session);
  const given = { child_ids: await ids(stage, session), timeout_seconds: 100 };
  const { report } = await settled(
    stage.world,
    stage.runtime.call(session, { tool: "subagent_wait", arguments: given as never }),
  );
  let isOver = false;
  report.then(() => isOver = true);
  open(); // Two of three: the third had no place.
  await stage.world.settle();
  assert.equal(
    (await children(stage, session)).filter(({ agent }) => agent.observed === "completed").length,
    2,
  );
  assert.equal(isOver, false);
  open();
  await settled(stage.world, report);
  const [met] = await resultsOf(stage, session, "children");
  assert.equal(met?.["timed_out"], false);
  assert.deepEqual(
    (met?.["children"] as Line[]).map((one) => one["observed_status"]),
    Array(3).fill("completed"),
  );
});

Deno.test("subagent_wait for a group needs all, any one, or a quorum, of 2 to 16 (GA-53)", async () => {
  const { tool, open } = gate();
  const stage = await openOffice([{ calls: [spawn("a"), spawn("b"), spawn("c"), call("hold")] }, {
    text: "ok",
  }], {
    tools: [tool],
  });
  const session = await stage.session();
  await play(stage, session);
  const members = await ids(stage, session);
  open(); // Two are done, one runs.
  await stage.world.settle();
  const group = (strategy: string, more: Line = {}) =>
    ask(stage, session, "subagent_wait", {
      agent_group: { members: [...members], strategy, ...more },
      timeout_seconds: 0,
    });
  const shown = (
    one: Line,
  ) => [one["timed_out"], one["succeeded"], one["successes"], (one["left_running"] as Json[]).length];
  assert.deepEqual(shown(await group("any")), [false, true, 2, 1]);
  assert.deepEqual(shown(await group("quorum", { required_successes: 2 })), [false, true, 2, 1]);
  assert.deepEqual(shown(await group("quorum", { required_successes: 3 })), [true, false, 2, 1]);
  assert.deepEqual(shown(await group("all")), [true, false, 2, 1]);
  await ask(stage, session, "subagent_close", { child_id: members[2] ?? "", strictness: "forced" });
  // One that will never succeed decides, whatever the others do.
  assert.deepEqual(shown(await group("all")), [false, false, 2, 0]);
  for (const few of [members.slice(0, 1), [members[0], members[0]], Array(17).fill(members[0])]) {
    const group = { members: few as Json[], strategy: "any" };
    const given = { tool: "subagent_wait", arguments: { agent_group: group, timeout_seconds: 0 } };
    const { report } = await settled(stage.world, stage.runtime.call(session, given));
    assert.match(JSON.stringify(await settled(stage.world, report)), /arguments_invalid/);
  }
});

Deno.test("subagent_send goes on with a child, whose next answer is news of its own (CM-102)", async () => {
  const stage = await openOffice([
    { calls: [spawn("a")] },
    { text: "first" },
    { text: "second" },
    { text: "third" },
  ]);
  const session = await stage.session();
  await play(stage, session);
  await stage.world.settle();
  const [child] = await ids(stage, session);
  const sent = await ask(stage, session, "subagent_send", { child_id: child ?? "", content: "more" });
  assert.ok(String(sent["message_id"]).startsWith("session/"));
  await stage.world.settle();
  const [now] = await children(stage, session);
  assert.deepEqual([now?.agent.answers, now?.agent.answer], [2, "second"]);
  await play(stage, session, "what is new?");
  const told = await notices(stage, session);
  assert.equal(told.length, 2, told.join("\n"));
  const listed = await ask(stage, session, "subagent_list", {});
  assert.deepEqual(
    (listed["children"] as Line[]).map((one) => [one["depth"], one["profile"], one["answers"]]),
    [
      [1, "worker", 2],
    ],
  );
});

Deno.test("runtime itself carries out the five tools about children (CM-32, CM-102)", async () => {
  assert.equal(runnerOf("troupe"), "builtin");
  const own = builtinSources.find(({ kind }) => kind === "troupe")?.tools.map(({ name }) => name) ?? [];
  for (const name of reservedNames) assert.ok(own.includes(name), name);
  const stage = await openOffice([{ calls: [spawn("a")] }, { text: "ok" }, { text: "more" }]);
  const session = await stage.session();
  await play(stage, session);
  const [id = ""] = await ids(stage, session);
  const given: { readonly [tool: string]: Line } = {
    subagent_list: {},
    subagent_send: { child_id: id, content: "go on" },
    subagent_wait: { child_id: id, timeout_seconds: 10 },
    subagent_close: { child_id: id },
  };
  for (const [tool, args] of Object.entries(given)) await ask(stage, session, tool, args);
  const ran = (await stage.entries(session)).filter(({ kind, type }) =>
    kind === "intent" && type === "tool.call"
  )
    .map(({ body }) => (body as { readonly args: { readonly entry: Line } }).args.entry["name"]);
  assert.deepEqual(ran.toSorted(), [...reservedNames].sort());
  const outcomes = await lines(stage, session);
  assert.ok(outcomes.every((one) => typeof one === "object"), JSON.stringify(outcomes));
});

Deno.test("subagent_close lets a turn end within its grace, and makes it end after that (CM-102, CM-104)", async () => {
  const { tool, open } = gate();
  const stage = await openOffice([{ calls: [spawn("a"), spawn("b"), call("hold")] }, { text: "ok" }], {
    tools: [tool],
  });
  const session = await stage.session();
  await play(stage, session);
  const [first = "", second = ""] = await ids(stage, session);
  const close = (child: string, strictness: string) =>
    settled(
      stage.world,
      stage.runtime.call(session, { tool: "subagent_close", arguments: { child_id: child, strictness } }),
    );
  const { report } = await close(first, "graceful");
  await stage.world.advance(limits.childGraceMs - 1);
  assert.deepEqual((await children(stage, session)).map(standing), [
    "running running acknowledged",
    "running running open",
  ]);
  // A child that is being closed takes nothing.
  assert.match(
    JSON.stringify(
      await settled(
        stage.world,
        stage.runtime.agents.send((await children(stage, session))[0] as Child, {
          owner: session,
          key: "late",
        }, "more"),
      ),
    ),
    /session_closed/,
  );
  await stage.world.advance(limits.cancelGraceMs + 1);
  await settled(stage.world, report);
  assert.equal(standing((await children(stage, session))[0] as Child), "canceled interrupted closed");
  const graceful = await close(second, "graceful");
  open();
  await settled(stage.world, graceful.report);
  assert.equal(standing((await children(stage, session))[1] as Child), "succeeded completed closed");
  const [one, two] = await resultsOf(stage, session, "close_state").then((all) => all.slice(-2));
  assert.deepEqual([one?.["derived_close_status"], two?.["derived_close_status"]], ["closed", "closed"]);
});

Deno.test("cancel of a child's task is answered when nothing of the child is left, its own children included (CM-104, DM-128)", async () => {
  const { tool, entered } = gate();
  const nested = {
    main: { allowed_tool_names: ["subagent_*"] },
    worker: { allowed_tool_names: ["subagent_spawn", "hold"], default_subagent: true },
  };
  const stage = await openOffice([{ calls: [spawn("a"), call("hold")] }, { text: "ok" }], {
    tools: [tool],
    agent: { profiles: nested },
  });
  const session = await stage.session();
  await play(stage, session);
  const [child] = await children(stage, session);
  const [grandchild] = await children(stage, child?.agent.child ?? "");
  assert.ok(child !== undefined && grandchild !== undefined);
  assert.equal(entered(), 2);
  assert.equal(grandchild.agent.rights.depth, 2);
  let isOver = false;
  const canceled = stage.runtime.tasks.cancel(session, child.id, "enough").then((one) => {
    isOver = true;
    return one;
  });
  await stage.world.settle();
  const left = await children(stage, child.agent.child);
  assert.equal(isOver, left.every(({ status }) => status === "canceled"));
  await stage.world.advance(limits.cancelGraceMs);
  assert.equal((await settled(stage.world, canceled))?.status, "canceled");
  assert.deepEqual((await children(stage, child.agent.child)).map(standing), ["canceled interrupted closed"]);
  assert.equal(standing((await children(stage, session))[0] as Child), "canceled interrupted closed");
});

Deno.test("child of a turn ends with it; one of a conversation stays (CM-102)", async () => {
  const stage = await openOffice([{ calls: [spawn("a", { scope: "turn" }), spawn("b")] }, { text: "ok" }]);
  const session = await stage.session();
  await play(stage, session);
  await stage.world.settle();
  assert.deepEqual((await children(stage, session)).map(standing), [
    "succeeded completed closed",
    "running completed open",
  ]);
});

Deno.test("nobody but its parent prompts a child: no person, no other session (CM-107)", async () => {
  const stage = await openOffice([{ calls: [spawn("a")] }, { text: "ok" }, { text: "more" }]);
  const session = await stage.session();
  await play(stage, session);
  const [child = ""] = await ids(stage, session);
  const refused = { code: "session_not_yours" };
  await assert.rejects(settled(stage.world, stage.runtime.prompt(child, "do this")), refused);
  await assert.rejects(settled(stage.world, stage.runtime.declareServers(child, [])), refused);
  const relay = { type: "session.relay" as const, to: child, text: "do this" };
  await assert.rejects(
    settled(stage.world, Promise.resolve().then(() => stage.runtime.send(session, relay))),
    refused,
  );
  const before = (await stage.entries(child)).length;
  // Ids of another session's children look like ids of none.
  const other = await stage.session();
  for (const tool of ["subagent_send", "subagent_close"]) {
    const given = tool === "subagent_send" ? { child_id: child, content: "do this" } : { child_id: child };
    assert.match(JSON.stringify(await ask(stage, other, tool, given)), /child_not_found.*has no child agent/);
  }
  assert.equal((await stage.entries(child)).length, before);
  // Whoever runs the store may stop its turn.
  await settled(stage.world, stage.runtime.send(child, { type: "session.cancel", reason: "enough" }));
});

Deno.test("parent of a child whose session is out of service sees child_lost, and goes on (CM-103, F31)", async () => {
  const { tool } = gate();
  const stage = await openOffice([{ calls: [spawn("a"), call("hold")] }, { text: "ok" }, { text: "I see" }], {
    tools: [tool],
  });
  const session = await stage.session();
  await play(stage, session);
  const [child = ""] = await ids(stage, session);
  quarantine(stage.runtime.kernel, child, "a test takes it away");
  await stage.world.settle();
  const [lost] = await children(stage, session);
  assert.equal(lost?.status, "lost");
  assert.equal(lost?.failure?.code, "child_lost");
  const report = await play(stage, session, "what is new?");
  assert.equal(report.outcome, "completed");
  assert.match((await notices(stage, session)).join(), /ended as lost/);
});
