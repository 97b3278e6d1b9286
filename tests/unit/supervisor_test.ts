/** Whether a supervisor restarts the right children in the right order, and knows when to give up. */
import assert from "node:assert/strict";
import {
  hasRoomForChild,
  hasRoomForEnding,
  type Ledger,
  planNext,
  supervisedChildrenMax,
} from "../../actors/restart.ts";
import { supervisorMachine } from "../../actors/supervisor.ts";
import { failure } from "../../schemas/failure.ts";
import type { Json } from "../../schemas/json.ts";
import { ChildSpec, SupervisorPolicy } from "../../schemas/supervision.ts";
import { type Run, startRun } from "../support/desk.ts";

const [a, b, c] = ["session/a", "session/b", "session/c"] as const;

function start(policy: Json = {}, children: readonly Json[] = []): Run {
  const run = startRun(supervisorMachine, {
    address: "supervisor/main",
    policy: SupervisorPolicy.parse(policy),
  });
  for (const child of children) {
    run.send({ type: "child.add", child: ChildSpec.parse(child) } as { type: string });
  }
  return run;
}

function spec(child: string, changes: { readonly [key: string]: Json } = {}): Json {
  return { child, restart: "permanent", comeBack: "resume", ...changes };
}

function crash(run: Run, child: string, atMs = run.now): void {
  run.now = atMs;
  run.send(
    { type: "child.crashed", child, failure: failure("crank_failed", "made up by a test") } as {
      type: string;
    },
  );
}

/** Lets everything that is asked end well; gives the stops and starts in order. */
function finish(run: Run): string[] {
  const from = run.desk.asks.length - run.pending().length;
  for (let kind = run.pending()[0]; kind !== undefined; kind = run.pending()[0]) run.settle(kind, null);
  return run.desk.asks.slice(from).flatMap(({ request }) => {
    if (request.port === "child.stop") {
      return [`${request.args.quarantine ? "quarantine" : "stop"} ${request.args.child}`];
    }
    return request.port === "child.start" ? [`${request.args.mode} ${request.args.child}`] : [];
  });
}

Deno.test("supervisor rests until a child ends", () => {
  const run = start({}, [spec(a)]);
  assert.deepEqual([run.state(), run.hasTag("rest"), run.kinds()], ["idle", true, []]);
});

Deno.test("supervisor of one_for_one restarts the crashed child alone, after a wait", () => {
  const run = start({}, [spec(a), spec(b)]);
  crash(run, a, 10_000);
  assert.deepEqual([run.state(), run.pending()], ["backingOff", ["timer.set"]]);
  assert.deepEqual(run.argsOf("timer.set"), { dueAtMs: 10_200, jitterMs: 100, label: "restart session/a" });
  assert.deepEqual(finish(run), ["resume session/a"]);
  assert.deepEqual([run.state(), run.hasTag("rest")], ["idle", true]);
});

Deno.test("supervisor of one_for_all stops the others in reverse order and starts all in order", () => {
  const run = start({ strategy: "one_for_all" }, [spec(a), spec(b, { stopGraceMs: 7 }), spec(c)]);
  crash(run, b);
  assert.deepEqual(run.argsOf("child.stop"), { child: c, graceMs: 5_000, quarantine: false });
  assert.deepEqual(finish(run), [
    "stop session/c",
    "stop session/a",
    "resume session/a",
    "resume session/b",
    "resume session/c",
  ]);
});

Deno.test("supervisor of rest_for_one restarts the crashed child and those after it", () => {
  const run = start({ strategy: "rest_for_one" }, [spec(a), spec(b), spec(c)]);
  crash(run, b);
  assert.deepEqual(finish(run), ["stop session/c", "resume session/b", "resume session/c"]);
});

Deno.test("supervisor gives a stopped sibling its own grace", () => {
  const run = start({ strategy: "one_for_all" }, [spec(a, { stopGraceMs: 7 }), spec(b)]);
  crash(run, b);
  assert.deepEqual(run.argsOf("child.stop"), { child: a, graceMs: 7, quarantine: false });
});

Deno.test("supervisor restarts permanent, transient and temporary children as they say", () => {
  const restarted = (restart: string, type: string): boolean => {
    const run = start({}, [spec(a, { restart })]);
    if (type === "child.crashed") crash(run, a);
    else run.send({ type, child: a } as { type: string });
    return finish(run).length > 0;
  };
  assert.deepEqual(["child.crashed", "child.exited"].map((type) => restarted("permanent", type)), [
    true,
    true,
  ]);
  assert.deepEqual(["child.crashed", "child.exited"].map((type) => restarted("transient", type)), [
    true,
    false,
  ]);
  assert.deepEqual(["child.crashed", "child.exited"].map((type) => restarted("temporary", type)), [
    false,
    false,
  ]);
});

Deno.test("supervisor brings a child back from its state, from nothing, or not at all", () => {
  const comingBack = (comeBack: string): string[] => {
    const run = start({}, [spec(a, { comeBack })]);
    crash(run, a);
    return finish(run);
  };
  assert.deepEqual(comingBack("resume"), ["resume session/a"]);
  assert.deepEqual(comingBack("clean"), ["clean session/a"]);
  assert.deepEqual(comingBack("never"), []);
});

Deno.test("supervisor notes a crashed child that it leaves", () => {
  const run = start({}, [spec(a, { restart: "temporary" })]);
  crash(run, a);
  assert.equal(run.notes()[0]?.type, "supervisor.child_left");
  assert.deepEqual([run.state(), run.context()["children"]], ["idle", []]);
});

Deno.test("supervisor does not start temporary siblings again", () => {
  const run = start({ strategy: "one_for_all" }, [spec(a), spec(b, { restart: "temporary" })]);
  crash(run, a);
  assert.deepEqual(finish(run), ["stop session/b", "resume session/a"]);
  assert.deepEqual((run.context()["children"] as ChildSpec[]).map((one) => one.child), [a]);
});

Deno.test("supervisor gives up after intensity restarts within the period", () => {
  const run = start({ restartsMax: 3, periodMs: 60_000 }, [spec(a), spec(b)]);
  for (const atMs of [10_000, 20_000, 30_000]) {
    crash(run, a, atMs);
    assert.deepEqual(finish(run), ["resume session/a"]);
  }
  crash(run, a, 40_000);
  assert.equal(run.state(), "quarantining");
  assert.deepEqual(run.argsOf("child.stop"), { child: a, graceMs: 5_000, quarantine: true });
  assert.equal(run.notes()[0]?.type, "supervisor.escalated");
  const body = run.notes()[0]?.body as { child: string; restarts: number; failure: { code: string } };
  assert.deepEqual([body.child, body.restarts, body.failure.code], [a, 3, "restart_intensity_exceeded"]);
  assert.deepEqual(finish(run), ["quarantine session/a"]);
  assert.deepEqual((run.context()["children"] as ChildSpec[]).map((one) => one.child), [b]);
});

Deno.test("supervisor forgets restarts that are older than the period", () => {
  const run = start({ restartsMax: 1, periodMs: 60_000 }, [spec(a)]);
  for (const atMs of [10_000, 70_000, 130_000]) {
    crash(run, a, atMs);
    assert.deepEqual(finish(run), ["resume session/a"]);
    assert.equal((run.context()["restarts"] as Json[]).length, 1);
  }
});

Deno.test("supervisor counts each child for itself, unless children restart together", () => {
  const crashBoth = (strategy: string): string[] => {
    const run = start({ strategy, restartsMax: 1 }, [spec(a), spec(b)]);
    crash(run, a, 10_000);
    finish(run);
    crash(run, b, 10_001);
    return finish(run);
  };
  assert.deepEqual(crashBoth("one_for_one"), ["resume session/b"]);
  assert.deepEqual(crashBoth("one_for_all"), ["quarantine session/b"]);
});

Deno.test("supervisor doubles the wait up to its bound", () => {
  const run = start({ restartsMax: 9, backoffFirstMs: 200, backoffMsMax: 1_000 }, [spec(a)]);
  const waits = [1, 2, 3, 4, 5].map((atMs) => {
    crash(run, a, atMs);
    const { dueAtMs } = run.argsOf("timer.set") as { dueAtMs: number };
    finish(run);
    return dueAtMs - atMs;
  });
  assert.deepEqual(waits, [200, 400, 800, 1_000, 1_000]);
});

Deno.test("supervisor handles crashes that come together one after another", () => {
  const run = start({}, [spec(a), spec(b), spec(c)]);
  for (const child of [c, a, b]) crash(run, child);
  crash(run, a);
  assert.deepEqual(run.pending(), ["timer.set"]);
  assert.deepEqual(finish(run), ["resume session/c", "resume session/a", "resume session/b"]);
});

Deno.test("supervisor settles by one restart what its whole group suffered before", () => {
  const run = start({ strategy: "one_for_all" }, [spec(a), spec(b)]);
  crash(run, a);
  crash(run, b);
  assert.deepEqual(finish(run), ["stop session/b", "resume session/a", "resume session/b"]);
});

Deno.test("supervisor takes a crash during a start for a new one", () => {
  const run = start({}, [spec(a)]);
  crash(run, a);
  run.settle("timer.set", null);
  assert.equal(run.state(), "starting");
  crash(run, a);
  assert.deepEqual(finish(run), ["resume session/a", "resume session/a"]);
});

Deno.test("supervisor takes a start that fails for one more crash, up to the intensity", () => {
  const run = start({ restartsMax: 2 }, [spec(a)]);
  crash(run, a);
  for (const _ of [1, 2]) {
    run.settle("timer.set", null);
    run.fail("child.start", { code: "crank_failed" });
  }
  assert.equal(run.state(), "quarantining");
  assert.deepEqual(finish(run), ["quarantine session/a"]);
});

Deno.test("supervisor goes on when a stop or a timer fails", () => {
  const run = start({ strategy: "one_for_all" }, [spec(a), spec(b)]);
  crash(run, a);
  run.fail("child.stop");
  run.fail("timer.set");
  assert.deepEqual(finish(run), ["resume session/a", "resume session/b"]);
});

Deno.test("supervisor treats a child that nobody added by the default", () => {
  const run = start({ childDefault: { restart: "transient", comeBack: "clean", stopGraceMs: 1 } });
  crash(run, a);
  assert.deepEqual(finish(run), ["clean session/a"]);
});

Deno.test("supervisor does not restart a child that was removed meanwhile", () => {
  const run = start({}, [spec(a), spec(b)]);
  crash(run, a);
  crash(run, b);
  for (const child of [a, b]) run.send({ type: "child.remove", child } as { type: string });
  assert.deepEqual(finish(run), []);
  assert.deepEqual([run.state(), run.context()["plan"]], ["idle", null]);
});

Deno.test("supervisor keeps a child's place when it is added again", () => {
  const run = start({ strategy: "rest_for_one" }, [spec(a), spec(b), spec(a, { comeBack: "clean" })]);
  crash(run, a);
  assert.deepEqual(finish(run), ["stop session/b", "clean session/a", "resume session/b"]);
});

Deno.test("supervisor settles what a child in quarantine still suffers", () => {
  const run = start({ restartsMax: 0 }, [spec(a)]);
  crash(run, a);
  crash(run, a);
  assert.deepEqual(finish(run), ["quarantine session/a"]);
  assert.equal(run.state(), "idle");
});

Deno.test("supervisor answers the command that brought a message", () => {
  const run = start({}, [spec(a)]);
  const command = { principal: "operator:local", key: "k1" };
  run.send({ type: "child.remove", child: a } as { type: string }, { command });
  assert.deepEqual(run.desk.posts.at(-1), {
    kind: "reply",
    command,
    status: "ok",
    value: { result: "accepted" },
  });
});

Deno.test("supervisor has room for so many children and endings, and for those it knows", () => {
  const names = Array.from({ length: supervisedChildrenMax }, (_, index) => `session/${index}`);
  const full: Ledger = {
    children: names.map((child) => ChildSpec.parse(spec(child))),
    restarts: [],
    queue: names.map((child) => ({ child, failure: null, at: 1 })),
    plan: null,
  };
  assert.deepEqual([hasRoomForChild(full, "session/new"), hasRoomForChild(full, "session/7")], [false, true]);
  assert.deepEqual([hasRoomForEnding(full, "session/new"), hasRoomForEnding(full, "session/7")], [
    false,
    true,
  ]);
  const unknown = planNext({ ...full, queue: [{ child: "session/new", failure: null, at: 1 }] }, {
    ...SupervisorPolicy.parse({}),
    childDefault: { restart: "permanent", comeBack: "resume", stopGraceMs: 1 },
  });
  assert.deepEqual([unknown.plan?.start[0]?.child, unknown.children.length], [
    "session/new",
    supervisedChildrenMax,
  ]);
});
