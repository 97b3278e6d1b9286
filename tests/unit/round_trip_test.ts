/** Whether every machine comes back from JSON as it was, in every state that it can rest in. */
import assert from "node:assert/strict";
import { type AnyMachineSnapshot, type AnyStateMachine, createMachine } from "xstate";
import { catalogMachine } from "../../actors/catalog.ts";
import { connectionMachine } from "../../actors/connection.ts";
import { invocationMachine } from "../../actors/invocation.ts";
import { questionMachine } from "../../actors/question.ts";
import { scheduleMachine } from "../../actors/schedule.ts";
import { sessionMachine } from "../../actors/session.ts";
import { supervisorMachine } from "../../actors/supervisor.ts";
import { turnMachine } from "../../actors/turn.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import { HostPolicy } from "../../schemas/config.ts";
import { failure } from "../../schemas/failure.ts";
import type { Json } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { localOperator } from "../../schemas/principal.ts";
import type { QuestionKind } from "../../schemas/question.ts";
import { Recovery } from "../../schemas/recovery.ts";
import { SupervisorPolicy } from "../../schemas/supervision.ts";
import {
  type Call,
  failedCall,
  modelAnswer,
  nameForm,
  remote,
  sampling,
  sealCatalog,
  startCall,
  toolReturn,
  wanted,
} from "../support/calls.ts";
import {
  type ConnectionRun,
  declarationOf,
  end,
  greeting,
  serverOf,
  startConnection,
} from "../support/connection.ts";
import { type FailureSketch, type Run, sourceOf, startRun, toolOf } from "../support/desk.ts";
import { callInTask } from "../support/tasks.ts";
import { rootNamed } from "../support/units.ts";

const catalog = sealCatalog([toolOf("look"), toolOf("ask", { approvalPolicy: "prompt" })]);
const agent = AgentDefinition.parse({ name: "test", model: "scripted/test" });
const unknown: FailureSketch = { status: "unknown", retryable: false };
const forGood: FailureSketch = { retryable: false };
const why = failure("tool_failed", "made up by a test");

/** Drives a new actor into one state. */
type Scripts<T> = { readonly [state: string]: (run: T) => void };

function question(kind: QuestionKind): Run {
  const subject = { kind, invocation: "turn/1/call/0.0", tool: "look", title: "Look", risk: "low" };
  return startRun(questionMachine, {
    subject: { ...subject, reason: "why", preview: "{}", rule: "look" },
    openMs: 1_000,
    at: 1_000,
  });
}

function turn(): Run {
  const limits = { maxOutputTokens: 1, roundsMax: 2, capabilities: [], mode: "plan" as const, grants: [] };
  const append = [{ type: "prompt" as const, seq: 2 }];
  const recovery = Recovery.parse({});
  const input = { turn: 1, at: 1_000, append, catalog, model: "scripted/test", recovery };
  return startRun(turnMachine, { ...input, ...limits });
}

const turnScripts: Scripts<Run> = {
  generating: () => {},
  waiting: (run) => run.fail("model.generate"),
  // As often as it is asked at once, all in vain.
  awaitingProvider: (run) => {
    const down: FailureSketch = { code: "model_server_failed" };
    for (let attempt = 1; attempt < limits.attemptsIdempotentMax; attempt++) {
      run.fail("model.generate", down);
      run.settle("timer.set", {});
    }
    run.fail("model.generate", down);
  },
  awaitingPerson: (run) => run.fail("model.generate", { code: "model_login_failed", retryable: false }),
  staging: (run) => {
    run.settle("model.generate", modelAnswer("", [{ name: "look" }, { name: "look" }]));
    run.send({ type: "turn.cancel" });
  },
  completed: (run) => run.settle("model.generate", modelAnswer("Done.")),
  failed: (run) => run.fail("model.generate", forGood),
  canceled: (run) => run.send({ type: "turn.cancel" }),
};

/** Who the session is a child of. */
const parent = { task: "task/tsk_1@ses_0", session: rootNamed(0), path: ["boss", "child"] };

function session(): Run {
  const roots = {
    address: rootNamed(1),
    catalog: "catalog/x",
    servers: [],
    mode: "default" as const,
    parent,
  };
  return startRun(sessionMachine, { ...roots, agent, home: "embedded:test", principal: localOperator });
}

function openSession(run: Run): void {
  run.send({ type: "catalog.issued", catalog, renewal: 0, servers: [] } as never);
}

/** A prompt of the one who may give it. */
function prompted(run: Run, text: string): void {
  run.send({ type: "session.prompt", text, sender: parent.task } as never);
}

function closed(run: Run): void {
  run.send({ type: "session.close", strictness: "graceful", reason: "test", sender: parent.task } as never);
}

const sessionScripts: Scripts<Run> = {
  preparing: (run) => prompted(run, "Hello"),
  refused: (run) => run.send({ type: "catalog.refused", failure: why, renewal: 0 } as never),
  idle: openSession,
  renewing: (run) => {
    openSession(run);
    run.send({ type: "session.servers", servers: [serverOf("docs")] } as never);
    prompted(run, "Hello");
  },
  closing: (run) => {
    openSession(run);
    const task = { type: "task.opened", task: "tsk_2", kind: "terminal.exec" };
    run.send({ ...task, sender: rootNamed(1).replace("session/", "task/tsk_2@") } as never);
    closed(run);
  },
  closed: (run) => {
    openSession(run);
    closed(run);
  },
  // The deepest of all: a turn in it, a call in the turn that waits for a person, and the question beside them.
  running: (run) => {
    openSession(run);
    for (const text of ["Hello", "And then"]) prompted(run, text);
    run.settle("model.generate", modelAnswer("", [{ name: "ask" }]));
    assert.deepEqual(run.pending(), ["question.ask"]);
  },
};

function catalogOf(): Run {
  const roots = { address: "catalog/x", subscriber: rootNamed(1) };
  const sources = [sourceOf("agent", [toolOf("look")])];
  const policy = HostPolicy.parse({});
  return startRun(catalogMachine, { ...roots, coreRevision: "core-1", agent, policy, sources });
}

const catalogScripts: Scripts<Run> = {
  sealing: (run) => run.send({ type: "catalog.change", sources: [] } as never),
  ready: (run) => run.settle("catalog.seal", { ...catalog }),
  gathering: (run) => {
    run.settle("catalog.seal", { ...catalog });
    const { connection } = serverOf("docs");
    run.send({ type: "catalog.renew", renewal: 1, servers: [{ server: "docs", connection }] } as never);
  },
  refused: (run) => run.fail("catalog.seal"),
};

function opened(run: ConnectionRun): ConnectionRun {
  run.open("a");
  return run;
}

const connectionScripts: Scripts<ConnectionRun> = {
  idle: () => {},
  connecting: (run) => opened(run).declare(declarationOf({ gate: "prompt" })),
  listing: (run) => opened(run).settle("mcp.connect", greeting),
  ready: (run) => run.makeReady(),
  closing: (run) => {
    opened(run).close("c");
    run.settle("mcp.connect", greeting);
  },
  draining: (run) => {
    run.makeReady();
    run.close("c");
  },
  closed: (run) => {
    run.makeReady();
    run.close("c");
    run.settle("mcp.close", end);
  },
  recovering: (run) => {
    run.makeReady();
    run.crash();
  },
  failed: (run) => opened(run).fail("mcp.connect", { code: "mcp_connect_failed", retryable: false }),
  backoff: (run) => opened(run).fail("mcp.connect"),
  quarantined: (run) => {
    for (let crashes = 0; crashes < limits.mcpCrashesMax; crashes++) {
      run.makeReady();
      run.crash();
    }
  },
};

const [first, second] = [rootNamed(1), rootNamed(2)];

function supervisor(): Run {
  const policy = SupervisorPolicy.parse({ strategy: "one_for_all", restartsMax: 1 });
  const run = startRun(supervisorMachine, { address: "supervisor/main", policy });
  for (const child of [first, second]) {
    const spec = { child, restart: "permanent", comeBack: "resume", stopGraceMs: 5_000 };
    run.send({ type: "child.add", child: spec } as never);
  }
  return run;
}

function crash(run: Run): void {
  run.send({ type: "child.crashed", child: first, failure: why } as never);
}

function restart(run: Run): void {
  crash(run);
  run.settle("child.stop", null);
  run.settle("timer.set", null);
}

const supervisorScripts: Scripts<Run> = {
  idle: () => {},
  stopping: crash,
  backingOff: (run) => {
    crash(run);
    run.settle("child.stop", null);
  },
  starting: restart,
  quarantining: (run) => {
    restart(run);
    run.settle("child.start", null);
    run.settle("child.start", null);
    crash(run);
  },
};

const asked = { tool: { approvalPolicy: "prompt" } } as const;
const verified = { tool: { effectClass: "conditional", mechanism: "verify", sideEffects: true } } as const;
const harmful = { tool: { effectClass: "non_idempotent", sideEffects: true } } as const;

function returned(value: Json): Call {
  const call = startCall();
  call.settle("tool.call", value);
  return call;
}

const callScripts: { readonly [state: string]: () => Call } = {
  reviewing: () => startCall({ tool: { review: "command" } }),
  awaitingApproval: () => startCall(asked),
  running: () => {
    const call = startCall();
    call.cancel();
    return call;
  },
  asking: () => {
    const call = startCall(remote());
    call.settle("mcp.call", wanted({ how: "held", requests: [nameForm, { ...nameForm, key: "more" }] }));
    call.decide("accept", "answered", { name: "Ada" });
    return call;
  },
  sampling: () => {
    const call = startCall(remote());
    call.settle("mcp.call", wanted({ how: "held", requests: [nameForm, sampling] }));
    call.decide("decline");
    call.decide("allow");
    return call;
  },
  awaitingTask: () => callInTask(harmful),
  backingOff: () => failedCall({}, {}),
  verifying: () => failedCall(verified, unknown),
  needsOperator: () => failedCall(harmful, unknown),
  succeeded: () => returned(toolReturn("done")),
  completedWithError: () => returned(toolReturn("no", true)),
  failed: () => failedCall({}, forGood),
  denied: () => startCall({ tool: { approvalPolicy: "deny" } }),
  invalid: () => startCall({ request: { arguments: undefined as never, argumentsText: "x" } }),
  notFound: () => startCall({ request: { entry: undefined as never } }),
  timedOut: () => failedCall({}, { status: "timed_out" }),
  canceled: () => failedCall({}, { status: "canceled" }),
  unknown: () => {
    const call = failedCall(harmful, unknown);
    call.cancel();
    return call;
  },
};

const questionScripts: Scripts<Run> = {
  pending: () => {},
  waiting: (run) => run.fail("question.ask"),
  answered: (run) => {
    const by = { ...localOperator };
    run.settle("question.ask", { decision: "abandon", by, shown: `sha256:${"0".repeat(64)}` });
  },
  expired: () => {},
  withdrawn: (run) => run.send({ type: "question.withdraw" }),
};

function schedule(): Run {
  const times = { type: "cron" as const, expression: "0 9 * * *", zone: "UTC" };
  const place = { address: "schedule/sch_1@ses_1", session: rootNamed(1) };
  return startRun(scheduleMachine, { ...place, times, prompt: "Look again", madeAtMs: 1_000 });
}

const scheduleScripts: Scripts<Run> = {
  planning: () => {},
  waiting: (run) => run.settle("schedule.next", { dueAtMs: 5_000, missed: 0 }),
  ended: (run) => run.settle("schedule.next", { dueAtMs: null, missed: 0 }),
};

/** States that a machine can rest in: all but those that it leaves the moment it enters them. */
function restingStates(machine: AnyStateMachine): readonly string[] {
  return Object.values(machine.root.states).filter((node) => {
    const last = node.always?.at(-1);
    return last === undefined || last.guard !== undefined;
  }).map((node) => node.key);
}

/** Every machine, and how to get it into each of its states. */
const table: readonly (readonly [
  name: string,
  machine: AnyStateMachine,
  scripts: { readonly [state: string]: () => readonly [run: Run, snapshot: () => unknown] },
])[] = [
  ["session", sessionMachine, scripted(session, sessionScripts)],
  ["turn", turnMachine, scripted(turn, turnScripts)],
  ["invocation", invocationMachine, calls()],
  ["catalog", catalogMachine, scripted(catalogOf, catalogScripts)],
  ["connection", connectionMachine, {
    ...scripted(startConnection, connectionScripts),
    ...scripted(() => startConnection(declarationOf({ gate: "prompt" })), { asking: (run) => run.open("a") }),
  }],
  ["schedule", scheduleMachine, scripted(schedule, scheduleScripts)],
  ["supervisor", supervisorMachine, scripted(supervisor, supervisorScripts)],
  ["question", questionMachine, {
    ...scripted(() => question("uncertain"), questionScripts),
    ...scripted(() => question("approval"), { expired: (run) => run.fail("question.ask") }),
  }],
];

function scripted<T extends Run>(start: () => T, scripts: Scripts<T>) {
  return Object.fromEntries(
    Object.entries(scripts).map(([state, script]) => [state, () => {
      const one = start();
      script(one);
      return [one, () => one.state()] as const;
    }]),
  );
}

function calls() {
  const scripts = Object.entries(callScripts);
  return Object.fromEntries(scripts.map(([state, script]) => [state, () => {
    const call = script();
    return [call.run, () => call.state()] as const;
  }]));
}

for (const [name, machine, scripts] of table) {
  Deno.test(`${name} comes back from JSON as it was, in every state that it can rest in (K2, K20)`, () => {
    for (const [state, script] of Object.entries(scripts)) {
      const [one, stateOf] = script();
      assert.equal(stateOf(), state);
      const before = one.persisted();
      const pending = one.pending();
      const asks = one.desk.asks.length;
      for (const port of one.desk.asks) port.ref = undefined;
      one.restore();
      assert.equal(one.persisted(), before, `${name} ${state}`);
      // The restored ports wait under their old ids, and nothing was asked anew.
      assert.deepEqual([stateOf(), one.pending(), one.desk.asks.length], [state, pending, asks]);
      const open = one.desk.asks.filter((ask) => ask.state === "pending");
      assert.ok(open.every((ask) => ask.ref !== undefined), `${name} ${state} lost a port`);
    }
  });

  Deno.test(`${name} has a round trip for every state of its machine, and for no other`, () => {
    assert.deepEqual(Object.keys(scripts).sort(), [...restingStates(machine)].sort());
  });
}

Deno.test("round trip finds a state that no script reaches", () => {
  const { config } = questionMachine;
  const grown = createMachine({ ...config, states: { ...config.states, forgotten: {} } } as never);
  const missing = restingStates(grown).filter((state) => !(state in questionScripts));
  assert.deepEqual(missing, ["forgotten"]);
});

// Proves K25: the order of children and the context are in the text, so equal text is equal state.
Deno.test("session comes back with its whole tree of children", () => {
  const one = session();
  sessionScripts["running"]?.(one);
  one.restore();
  const call = one.child("turn/1", "call/0.0") as AnyMachineSnapshot;
  assert.deepEqual([call.value, one.child("question/1")?.value], ["awaitingApproval", "pending"]);
});
