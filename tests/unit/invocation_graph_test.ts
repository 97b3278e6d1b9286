/** Whether a call can get around its gates: every edge, and every state that any sequence of events can reach. */
import assert from "node:assert/strict";
import { type AnyMachineSnapshot, type AnyStateMachine, createMachine, type EventObject } from "xstate";
import { getAdjacencyMap, getShortestPaths, toDirectedGraph } from "xstate/graph";
import { invocationMachine } from "../../actors/invocation.ts";
import { Decision } from "../../schemas/question.ts";
import { callInput, type CallSketch, sampling, toolReturn, wanted } from "../support/calls.ts";
import { pausedCall } from "../support/tasks.ts";

interface Edge {
  readonly from: string;
  readonly to: string;
  readonly event: string;
}

/** Every edge of a flat machine: those of its events, and those that it takes by itself. */
function edgesOf(machine: AnyStateMachine): readonly Edge[] {
  return toDirectedGraph(machine).children.flatMap(({ edges, stateNode }) => [
    ...edges.map(({ source, target, label }) => ({ from: source.key, to: target.key, event: label.text })),
    ...(stateNode.always ?? []).flatMap((transition) =>
      (transition.target ?? []).map((target) => ({ from: stateNode.key, to: target.key, event: "" }))
    ),
  ]);
}

function statesOf(machine: AnyStateMachine, kind: "final" | "atomic"): readonly string[] {
  return Object.values(machine.root.states).filter((node) => node.type === kind).map((node) => node.key);
}

/** True if a state is left the moment it is entered: its last own way out has no guard. */
function isTransient(machine: AnyStateMachine, state: string): boolean {
  const last = machine.root.states[state]?.always?.at(-1);
  return last !== undefined && last.guard === undefined;
}

/** States that edges lead to from `start`, never going through `without`. */
function reach(edges: readonly Edge[], start: string, without?: string): ReadonlySet<string> {
  const reached = new Set([start]);
  for (const state of reached) {
    for (const { from, to } of edges) if (from === state && to !== without) reached.add(to);
  }
  return reached;
}

const at = 2_000;
const grants: readonly string[] = ["allow", "always_allow_for_session"];

function failed(id: string, status: string, retryable: boolean): EventObject {
  const failure = { code: "tool_failed", message: "", retryable };
  return { type: `xstate.error.actor.${id}`, error: { status, failure, at, intent: "1.0" } } as EventObject;
}

function done(id: string, value: unknown): EventObject {
  return { type: `xstate.done.actor.${id}`, output: { value, at, intent: "1.0" } } as EventObject;
}

/** What is found about a command that a person must look at. */
const prompting = {
  verdict: "prompt",
  risk: "high",
  findings: [{ rule: "pipeline", verdict: "prompt", why: "one program writes to another" }],
  identity: `sha256:${"0".repeat(64)}`,
};

/** Everything that can happen to a call: every decision, cancel, and every outcome of every port. */
const alphabet: readonly EventObject[] = [
  { type: "invocation.cancel", at } as EventObject,
  ...Decision.options.map((decision) =>
    ({ type: "question.decided", decision, via: "answered", at }) as EventObject
  ),
  done("effect", toolReturn("ok")),
  done("effect", toolReturn("no", true)),
  done("effect", wanted()),
  done("effect", wanted({ requests: [sampling] })),
  done("sample", { text: "", model: "m", stopReason: "endTurn" }),
  failed("sample", "failed", false),
  done("effect", pausedCall()),
  ...["failed", "timed_out", "canceled", "unknown"].map((status) => failed("effect", status, false)),
  failed("effect", "failed", true),
  done("timer", { firedAtMs: at }),
  failed("timer", "canceled", false),
  done("verify", { applied: true }),
  done("verify", { applied: false }),
  failed("verify", "failed", false),
  done("review", prompting),
  failed("review", "failed", false),
];

/** True if an event can come now: a port has an outcome only while it is pending. */
function canCome(snapshot: AnyMachineSnapshot, { type }: EventObject): boolean {
  const port = /^xstate\.(?:done|error)\.actor\.(.*)$/.exec(type)?.[1];
  return port === undefined || snapshot.children[port] !== undefined;
}

function isGrant(event: EventObject): boolean {
  return event.type === "question.decided" &&
    grants.includes((event as { readonly decision?: string }).decision ?? "");
}

/** States that differ only in attempts beyond every bound, or in text, are one. */
function nameOf(snapshot: AnyMachineSnapshot): string {
  // A machine that broke would be found to go nowhere.
  assert.notEqual(snapshot.status, "error", String(snapshot.error));
  const { attempt, cancelAsked, isDoubtful, firstIntent, pause } = snapshot.context;
  const wants = pause?.wants.requests[pause.answers.length]?.kind;
  return JSON.stringify([snapshot.value, Math.min(attempt, 6), cancelAsked, isDoubtful, firstIntent, wants]);
}

/** What a call must meet before it runs. */
type Gate = "free" | "asked" | "never";

const effects: readonly CallSketch["tool"][] = [
  { effectClass: "idempotent" },
  { effectClass: "conditional", mechanism: "key", sideEffects: true },
  { effectClass: "conditional", mechanism: "verify", sideEffects: true },
  { effectClass: "non_idempotent", sideEffects: true },
];

const cases: readonly (readonly [gate: Gate, name: string, sketch: CallSketch])[] = [
  ...effects.flatMap((tool) =>
    [
      ["free", "allowed", { tool: { ...tool } }],
      ["asked", "prompt", { tool: { ...tool, approvalPolicy: "prompt" } }],
      ["never", "deny", { tool: { ...tool, approvalPolicy: "deny" } }],
    ] as const
  ),
  ["asked", "reviewed", { tool: { review: "command", effectClass: "non_idempotent", sideEffects: true } }],
  ["never", "reviewed and denied", { tool: { review: "command", approvalPolicy: "deny" } }],
  ["never", "capability missing", { tool: { capability: "fs.write" } }],
  ["never", "disabled", { entry: { enabled: false } }],
  ["never", "deny in spite of a grant", { tool: { approvalPolicy: "deny" }, grants: ["look"] }],
  ["never", "no object", { request: { arguments: undefined as never, argumentsText: "x" } }],
  ["never", "unknown name", { request: { entry: undefined as never } }],
  ["free", "prompt with a grant", { tool: { approvalPolicy: "prompt" }, grants: ["look"] }],
];

function isRunning(snapshot: AnyMachineSnapshot): boolean {
  return snapshot.value === "running";
}

/** The machine without what it tells others: the graph has no parent, and its ports do nothing. */
function mute(machine: AnyStateMachine): AnyStateMachine {
  const nothing = () => {};
  const actions = {
    openQuestion: nothing,
    openUncertain: nothing,
    openRequest: nothing,
    withdrawQuestion: nothing,
    cancelPort: nothing,
  };
  return machine.provide({ actions });
}

/** Ways into `running` that no gate allows. Empty if I5 holds. */
function findBypasses(machine: AnyStateMachine): string[] {
  const findings: string[] = [];
  const edges = edgesOf(machine);
  for (const gate of ["validating", "authorizing"]) {
    if (reach(edges, "proposed", gate).has("running")) findings.push(`an edge leads around ${gate}`);
  }
  for (const [gate, name, sketch] of cases) {
    if (gate === "free") continue;
    // A call that is asked about may run after a grant, and after nothing else.
    const filterEvents = (snapshot: AnyMachineSnapshot, event: EventObject) =>
      canCome(snapshot, event) && !(gate === "asked" && isGrant(event));
    const paths = getShortestPaths(mute(machine), {
      input: callInput(sketch),
      events: alphabet,
      filterEvents,
      serializeState: nameOf,
      toState: isRunning,
    });
    if (paths.length > 0) findings.push(`${name}: runs after ${paths[0]?.steps.length} steps`);
  }
  return findings;
}

/** Every state that the events of the alphabet can reach, over all cases, and what follows each. */
function explore(machine: AnyStateMachine) {
  return cases.flatMap(([, , sketch]) => {
    const map = getAdjacencyMap(mute(machine), {
      input: callInput(sketch),
      events: alphabet,
      filterEvents: canCome,
      serializeState: nameOf,
      limit: 10_000,
    });
    return Object.values(map).map(({ state, transitions }) => {
      const next = Object.values<{ readonly state: AnyMachineSnapshot }>(transitions).map((one) => one.state);
      return { state: state as AnyMachineSnapshot, next };
    });
  });
}

/** Final states that are left, states without an end, and states that do not hear a cancel. Empty if all is well. */
function findTraps(machine: AnyStateMachine): string[] {
  const findings: string[] = [];
  const edges = edgesOf(machine);
  const finals = statesOf(machine, "final");
  for (const { from, event } of edges) {
    if (finals.includes(from)) findings.push(`${from} is left by ${event}`);
  }
  for (const state of statesOf(machine, "atomic")) {
    if (!finals.some((final) => reach(edges, state).has(final))) findings.push(`${state} never ends`);
    const hears = edges.some(({ from, event }) => from === state && event === "invocation.cancel");
    if (!hears && !isTransient(machine, state)) findings.push(`${state} does not hear a cancel`);
  }
  for (const { state, next } of explore(machine)) {
    const isEnd = state.status === "done";
    if (isEnd && next.some((one) => one.value !== state.value)) findings.push(`${state.value} goes on`);
    if (!isEnd && !state.can({ type: "invocation.cancel", at })) findings.push(`${state.value} is deaf`);
    if (!isEnd && isTransient(machine, String(state.value))) findings.push(`${state.value} rests`);
  }
  return [...new Set(findings)];
}

interface MutableState {
  always?: { guard?: string; target: string }[];
  on?: Record<string, { guard?: string; target: string; actions?: unknown }[]>;
  [key: string]: unknown;
}

/** The machine with one thing changed in its config; its guards and actions stay. */
function planted(change: (states: Record<string, MutableState>) => void): AnyStateMachine {
  const { config } = invocationMachine;
  const states: Record<string, MutableState> = {};
  for (const [name, state] of Object.entries(config.states ?? {})) {
    const { always, on, ...rest } = state as MutableState;
    states[name] = {
      ...rest,
      ...(always === undefined ? {} : { always: [always].flat() }),
      ...(on === undefined ? {} : { on: { ...on } }),
    };
  }
  change(states);
  return createMachine({ ...config, states } as never, invocationMachine.implementations as never);
}

Deno.test("invocation never runs around validation, authorization or a granted approval (I5)", () => {
  assert.deepEqual(findBypasses(invocationMachine), []);
});

Deno.test("invocation graph proof finds a planted edge from authorizing to running for a denied call (I5)", () => {
  const machine = planted((states) => {
    states["authorizing"]?.always?.unshift({ guard: "isDenied", target: "running" });
  });
  assert.deepEqual(findBypasses(machine), [
    "deny: runs after 1 steps",
    "deny: runs after 1 steps",
    "deny: runs after 1 steps",
    "deny: runs after 1 steps",
    "reviewed and denied: runs after 2 steps",
    "capability missing: runs after 1 steps",
    "disabled: runs after 1 steps",
    "deny in spite of a grant: runs after 1 steps",
  ]);
});

Deno.test("invocation graph proof finds planted edges around every other gate (I5)", () => {
  const around = planted((states) => states["proposed"]?.always?.splice(1, 0, { target: "authorizing" }));
  assert.ok(findBypasses(around).includes("an edge leads around validating"));
  const past = planted((states) => states["validating"]?.always?.push({ target: "binding" }));
  assert.ok(findBypasses(past).includes("an edge leads around authorizing"));
  const unasked = planted((states) => {
    states["authorizing"]?.always?.splice(1, 1);
  });
  assert.ok(findBypasses(unasked).some((finding) => finding.startsWith("prompt: ")));
  const anyAnswer = planted((states) => {
    const awaiting = states["awaitingApproval"];
    if (awaiting?.on !== undefined) awaiting.on["question.decided"] = [{ target: "binding" }];
  });
  assert.ok(findBypasses(anyAnswer).some((finding) => finding.startsWith("prompt: ")));
});

Deno.test("invocation ends from every state, stays ended, and hears a cancel wherever it rests", () => {
  assert.deepEqual(findTraps(invocationMachine), []);
});

Deno.test("invocation graph proof finds a final state that is left, a dead end, and a deaf state", () => {
  const left = planted((states) => {
    states["denied"] = { ...states["denied"], on: { "question.decided": [{ target: "binding" }] } };
  });
  assert.ok(findTraps(left).includes("denied is left by question.decided"));
  const dead = planted((states) => {
    states["needsOperator"] = { on: { "invocation.cancel": [{ target: "needsOperator" }] } };
  });
  assert.ok(findTraps(dead).includes("needsOperator never ends"));
  const deaf = planted((states) => {
    delete states["backingOff"]?.on;
  });
  assert.ok(findTraps(deaf).includes("backingOff does not hear a cancel"));
  assert.ok(findTraps(deaf).includes("backingOff is deaf"));
});

Deno.test("invocation graph proof reaches every state that a call can rest in", () => {
  const reached = new Set(explore(invocationMachine).map(({ state }) => state.value));
  const resting = Object.keys(invocationMachine.root.states).filter((state) =>
    !isTransient(invocationMachine, state)
  );
  assert.deepEqual([...reached].sort(), resting.sort());
  assert.equal(statesOf(invocationMachine, "final").length, 9);
});

// Proves K11: while the effect runs, nothing but its own outcome leads on.
Deno.test("invocation leaves running, and its task, only by its port's outcome", () => {
  for (const state of ["running", "awaitingTask"]) {
    const ways = edgesOf(invocationMachine).filter(({ from, to }) => from === state && to !== state);
    const events = ["xstate.done.actor.effect", "xstate.error.actor.effect"];
    assert.deepEqual([...new Set(ways.map(({ event }) => event))].sort(), events);
  }
});
