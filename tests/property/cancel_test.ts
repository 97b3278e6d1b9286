/** A cancel ends in an answer, whatever the session, its turn and its calls do when it comes. */
import assert from "node:assert/strict";
import { invocationMachine } from "../../actors/invocation.ts";
import { sessionMachine } from "../../actors/session.ts";
import { turnMachine } from "../../actors/turn.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import { CancelReport, CancelScope } from "../../schemas/cancel.ts";
import { localOperator } from "../../schemas/principal.ts";
import { modelAnswer, nameForm, sampling, sealCatalog, toolReturn, wanted } from "../support/calls.ts";
import { serverOf } from "../support/connection.ts";
import { type Ask, type Run, startRun, toolOf } from "../support/desk.ts";
import { pausedCall } from "../support/tasks.ts";
import { rootNamed } from "../support/units.ts";

const self = rootNamed(1);
const agent = AgentDefinition.parse({ name: "a", model: "scripted/x", limits: { rounds_per_turn: 4 } });
const safe = { parallelSafe: true } as const;
const catalog = sealCatalog([
  toolOf("look", safe),
  toolOf("ask", { ...safe, approvalPolicy: "prompt" }),
  toolOf("pay", { ...safe, effectClass: "non_idempotent", sideEffects: true }),
  toolOf("put", { ...safe, effectClass: "conditional", mechanism: "key" }),
  toolOf("check", { ...safe, effectClass: "conditional", mechanism: "verify" }),
  toolOf("run", { ...safe, review: "command", effectClass: "non_idempotent", sideEffects: true }),
  toolOf("alone"),
], { adapter: "mcp" });

type Random = () => number;

function randomFrom(seed: number): Random {
  let state = seed;
  return () => (state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) / 4_294_967_296;
}

function pick<T>(items: readonly T[], random: Random): T {
  return items[Math.floor(random() * items.length)] as T;
}

const names = ["look", "ask", "pay", "put", "check", "run", "alone", "nobody"];

/** Whose child some of the sessions are. */
const above = {
  task: `task/tsk_${"0".repeat(26)}@${rootNamed(9).slice("session/".length)}`,
  session: rootNamed(9),
  path: ["main", "a"],
};

function begin(random: Random): Run {
  const run = startRun(sessionMachine, {
    address: self,
    agent,
    home: "embedded:test",
    catalog: "catalog/x",
    principal: localOperator,
    servers: random() < 0.3 ? [serverOf("docs") as never] : [],
    mode: "default" as const,
    ...(random() < 0.4 ? { parent: above } : {}),
    ...(random() < 0.5 ? { recovery: { waits: "manual" as const } } : {}),
  });
  return run;
}

function issue(run: Run): void {
  const { renewal } = run.context();
  run.send({ type: "catalog.issued", catalog, renewal, servers: [] } as never);
}

function command(key: string) {
  return { command: { principal: "operator:local", key } };
}

function taskOf(n: number) {
  const task = `tsk_${String(n).padStart(26, "0")}`;
  return { task, address: `task/${task}@${self.slice("session/".length)}` };
}

/** Failures of a model after which a turn waits: for its time, or for a person. */
const lasting = [
  { code: "model_rate_limited", retryAfterMs: 300_000 },
  { code: "model_login_failed", retryable: false },
] as const;

/** What a port yields that nobody has canceled: anything that it may. */
function outcome(run: Run, ask: Ask, random: Random): void {
  const { port } = ask.request;
  const younger = run.desk.asks.filter((one) => one.state === "pending" && one.request.port === port)
    .indexOf(ask);
  if (younger > 0) return; // The oldest of a kind goes first; the next look takes this one.
  if (random() < 0.3 && port !== "question.ask") {
    if (port === "model.generate" && random() < 0.5) return run.fail(port, pick(lasting, random));
    const status = pick(["failed", "timed_out", "unknown", "unknown"] as const, random);
    return run.fail(port, { status, code: "tool_unreachable" });
  }
  if (port === "model.generate") {
    const calls = Array.from({ length: Math.floor(random() * 4) }, () => ({ name: pick(names, random) }));
    return run.settle(port, modelAnswer("text", calls));
  }
  if (port === "mcp.call" && random() < 0.5) {
    const requests = random() < 0.5 ? [nameForm] : [sampling];
    return run.settle(port, random() < 0.4 ? pausedCall() : wanted({ requests }));
  }
  if (port === "tool.verify") return run.settle(port, { applied: random() < 0.5 });
  if (port === "command.review") {
    const identity = `sha256:${"2".repeat(64)}`;
    return run.settle(port, { verdict: "allow", risk: "low", findings: [], identity });
  }
  if (port === "question.ask") {
    if (random() < 0.6) return; // People take their time.
    const { kind } = (ask.request.args as { subject: { kind: string } }).subject;
    const decision = kind === "uncertain" ? "run_again" : kind === "elicitation" ? "accept" : "allow";
    return run.settle(port, { decision, by: { ...localOperator }, shown: `sha256:${"0".repeat(64)}` });
  }
  if (port === "model.sample") return run.settle(port, sampled);
  run.settle(port, toolReturn("done"));
}

/** What the model answered to a server. */
const sampled = { text: "In short", model: "scripted/x", stopReason: "endTurn" };

/** One step of a life: a prompt, a task, a catalog, or the outcome of a port. */
function live(run: Run, step: number, random: Random): void {
  const dice = random();
  const pending = run.desk.asks.filter((ask) => ask.state === "pending");
  const isChild = run.context()["parent"] !== undefined;
  if (isChild && random() < 0.06) {
    const strictness = pick(["graceful", "forced"], random);
    return run.send({ type: "session.close", strictness, reason: "x" } as never, { sender: above.task });
  }
  const giver = isChild ? { sender: above.task } : command(`p${step}`);
  if (dice < 0.15) return run.send({ type: "session.prompt", text: "go" } as never, giver);
  if (dice < 0.25) {
    const { task, address } = taskOf(step);
    return run.send({ type: "task.opened", task, kind: "terminal.exec" } as never, { sender: address });
  }
  if (dice > 0.97) return run.send({ type: "session.resume" } as never, command(`r${step}`));
  if (dice < 0.4 && ["preparing", "renewing"].includes(String(run.state()))) return issue(run);
  const ask = pending[Math.floor(random() * pending.length)];
  if (ask !== undefined) outcome(run, ask, random);
}

/** Where the session, its turn and its calls are: `session running`, `turn staging`, `call awaitingApproval`. */
function statesOf(run: Run): readonly string[] {
  const name = `turn/${run.context()["turn"]}`;
  const turn = run.child(name);
  if (turn === undefined) return [`session ${run.state()}`];
  const calls = Object.entries(turn.children).filter(([id]) => id.startsWith("call/"))
    .map(([id]) => `call ${run.child(name, id)?.value}`);
  return [`session ${run.state()}`, `turn ${turn.value}`, ...calls];
}

/** The world after a cancel, with nobody there: what was told to stop says how it ended, timers fire, tasks end. */
function wind(run: Run, random: Random): boolean {
  const open = (run.context()["tasks"] ?? []) as { task: string; address: string; isStopping?: boolean }[];
  const isClosing = run.context()["closing"] !== undefined;
  const stopping = open.find(({ isStopping }) => isStopping === true || isClosing);
  if (stopping !== undefined && random() < 0.5) {
    const { task, address } = stopping;
    const letter = {
      task,
      kind: "terminal.exec",
      title: "t",
      status: "canceled",
      summary: "",
      silent: false,
    };
    run.send({ type: "task.ended", ...letter } as never, { sender: address });
    return true;
  }
  const ask = run.desk.asks.find(({ state, request: { port } }) =>
    state === "pending" && port !== "question.ask" && port !== "model.generate"
  );
  if (ask === undefined) return stopping !== undefined;
  const status = pick(["canceled", "failed", "unknown", "ok"] as const, random);
  const { port } = ask.request;
  if (port === "timer.set") run.settle(port, { firedAtMs: run.now });
  else if (port === "tool.verify") run.settle(port, { applied: random() < 0.5 });
  else if (port === "model.sample") run.settle(port, sampled);
  else if (status === "ok" && port !== "command.review") run.settle(port, toolReturn("done all the same"));
  else {run.fail(port, {
      status: status === "ok" ? "failed" : status,
      code: status === "canceled" ? "tool_canceled" : "tool_unreachable",
    });}
  return true;
}

function answerTo(run: Run, key: string): CancelReport | undefined {
  const replies = run.desk.posts.flatMap((post) =>
    post.kind === "reply" && post.command.key === key ? [post.value] : []
  );
  assert.ok(replies.length <= 1, "a cancel is answered once");
  return replies[0] === undefined ? undefined : CancelReport.parse(replies[0]);
}

/** Addresses that a report says have ended really have. */
function assertTrue(run: Run, report: CancelReport): void {
  const open = new Set(
    ((run.context()["tasks"] ?? []) as { address: string }[]).map(({ address }) => address),
  );
  for (const { address, kind } of report.stopped) {
    if (kind === "task") assert.ok(!open.has(address), `${address} was said to have ended`);
    if (kind === "turn") assert.equal(run.child(address), undefined, `${address} was said to have ended`);
  }
  for (const { address, kind } of report.goesOn) if (kind === "task") assert.ok(open.has(address));
}

const seeds = Number(Deno.env.get("SEEDS") ?? 400);

/** States in which a machine waits: the others are left in the step in which they are entered. */
const passing = new Set([
  ...["session refusing", "turn affording"],
  ...["turn binding", "turn changing", "turn planning", "turn advancing", "turn answering"],
  ...["proposed", "validating", "authorizing", "binding", "uncertain", "replying"].map((name) =>
    `call ${name}`
  ),
]);

function waitingStates(): readonly string[] {
  const of = (name: string, states: object) =>
    Object.entries(states).filter(([, state]) => (state as { readonly type: string }).type !== "final")
      .map(([state]) => `${name} ${state}`);
  return [
    ...of("session", sessionMachine.root.states),
    ...of("turn", turnMachine.root.states),
    ...of("call", invocationMachine.root.states),
  ].filter((state) => !passing.has(state));
}

Deno.test("cancel of any scope ends in one true answer in every state of session, turn and call (ask 5)", () => {
  const canceledIn = new Set<string>();
  for (let seed = 1; seed <= seeds; seed++) {
    const random = randomFrom(seed);
    const run = begin(random);
    if (seed % 40 === 7) {
      const why = { code: "catalog_unavailable", message: "x", retryable: false };
      run.send({ type: "catalog.refused", failure: why, renewal: 0 } as never);
    } else if (seed % 40 !== 8) issue(run);
    const steps = seed % 40 === 8 ? 1 : Math.floor(random() * 30);
    for (let step = 0; step < steps; step++) live(run, step, random);
    const scope = pick(CancelScope.options, random);
    for (const state of statesOf(run)) canceledIn.add(state);
    const more = scope === "call" ? { call: "call/0.0" } : {};
    run.send({ type: "session.cancel", reason: "x", scope, ...more } as never, command("cancel"));
    for (let step = 0; answerTo(run, "cancel") === undefined; step++) {
      assert.ok(step < 200 && wind(run, random), `seed ${seed}: a cancel of the ${scope} is never answered`);
    }
    const report = answerTo(run, "cancel") as CancelReport;
    assertTrue(run, report);
  }
  assert.deepEqual(waitingStates().filter((state) => !canceledIn.has(state)), [], "no cancel came in these");
});
