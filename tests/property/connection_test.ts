/** What holds for a connection whatever it is told, whatever comes of its ports, and wherever the runtime ends. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { connectionMachine } from "../../actors/connection.ts";
import type { PortArgs, PortKind } from "../../schemas/effect.ts";
import type { Json } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import type { McpDeclaration } from "../../schemas/manifest.ts";
import {
  type ConnectionRun,
  declarationOf,
  end,
  greeting,
  listing,
  startConnection,
} from "../support/connection.ts";

const declarations: readonly McpDeclaration[] = [
  declarationOf(),
  declarationOf({ manifest: { args: ["--other"] } }),
  declarationOf({ gate: "prompt" }),
  declarationOf({ gate: "prompt", manifest: { args: ["--other"] }, preview: "docs-server --other" }),
  declarationOf({ gate: "denied" }),
  declarationOf({ manifest: { enabled: false } }),
];

const good: { readonly [K in PortKind]?: Json } = {
  "mcp.connect": greeting,
  "mcp.list": listing,
  "mcp.close": end,
};

/** One thing that happens to a connection. */
type Step =
  | { readonly do: "open" | "close"; readonly isCommand: boolean }
  | { readonly do: "declare"; readonly which: number }
  | { readonly do: "settle"; readonly isGood: boolean; readonly younger: number }
  | { readonly do: "fail"; readonly status: "failed" | "timed_out" | "canceled" | "unknown" }
  | { readonly do: "refresh"; readonly rule: string }
  | { readonly do: "wait" | "change" | "restart" | "idle" | "crash" | "wear" };

const anyDeclaration = fc.nat({ max: declarations.length - 1 });

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("open" as const), isCommand: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("close" as const), isCommand: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("declare" as const),
      which: anyDeclaration,
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant("settle" as const),
      isGood: fc.integer({ min: 0, max: 9 }).map((dice) => dice > 0),
      younger: fc.nat({ max: 1 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("fail" as const),
      status: fc.constantFrom(
        "failed" as const,
        "timed_out" as const,
        "canceled" as const,
        "unknown" as const,
      ),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: "wait" as const }) },
  { weight: 1, arbitrary: fc.constant({ do: "change" as const }) },
  { weight: 1, arbitrary: fc.constant({ do: "idle" as const }) },
  { weight: 2, arbitrary: fc.constant({ do: "crash" as const }) },
  { weight: 1, arbitrary: fc.constant({ do: "wear" as const }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("refresh" as const),
      rule: fc.constantFrom("manual", "call_refused"),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: "restart" as const }) },
);

/** A life of one connection, and what was asked of it. */
interface Life {
  readonly run: ConnectionRun;
  readonly commands: string[];
  /** The declaration that was told last. */
  declared: McpDeclaration;
  /** What a person was shown and allowed. */
  readonly allowed: Set<unknown>;
  /** How many offers there were when somebody wanted it last; -1 if nobody did. */
  offersBefore: number;
}

function settle({ run, allowed }: Life, isGood: boolean, younger = 0): void {
  const pending = run.pending();
  const kind = pending[Math.min(younger, pending.length - 1)];
  if (kind === undefined) return;
  if (kind === "question.ask") {
    if (isGood) allowed.add((run.argsOf(kind) as PortArgs<typeof kind>).subject.preview);
    return run.answer(isGood ? "allow" : "deny");
  }
  if (kind === "mcp.watch") return run.crash(isGood ? 1 : 0);
  run.settle(kind, isGood ? good[kind] ?? null : "nonsense");
}

/** What recovery says of everything that was open: a start is in doubt, a server has ended with its runtime. */
function restart(run: ConnectionRun): void {
  run.restore();
  for (const kind of run.pending()) {
    if (kind === "mcp.connect") run.fail(kind, { status: "unknown", code: "tool_outcome_unknown" });
    else if (kind === "mcp.close") run.settle(kind, end);
    else if (kind === "mcp.list" || kind === "mcp.watch") run.fail(kind, { code: "interrupted" });
  }
}

function live(life: Life, one: Step): void {
  const { run, commands } = life;
  const key = `k${commands.length}`;
  switch (one.do) {
    case "open":
      life.offersBefore = run.offers().length;
      if (one.isCommand) commands.push(key);
      run.open(one.isCommand ? key : undefined);
      break;
    case "close":
      if (one.isCommand) commands.push(key);
      run.close(one.isCommand ? key : undefined);
      break;
    case "declare":
      commands.push(key);
      life.declared = declarations[one.which] ?? declarationOf();
      run.declare(life.declared, key);
      break;
    case "settle":
      settle(life, one.isGood, one.younger);
      break;
    case "fail": {
      const [kind] = run.pending();
      if (kind !== undefined) run.fail(kind, { status: one.status, code: "mcp_connect_failed" });
      break;
    }
    case "wait":
      run.now += 40_000;
      break;
    case "change":
      if (run.pending().includes("mcp.watch")) run.settle("mcp.watch", { type: "list_changed" });
      break;
    case "idle":
      if (run.pending().includes("mcp.watch")) run.settle("mcp.watch", { type: "idle" });
      break;
    case "wear":
      // It is wanted, comes up and ends by itself, more often than it may.
      for (let rounds = 0; rounds <= limits.mcpCrashesMax; rounds++) {
        run.open();
        settleAll(life);
        if (run.state() === "ready") run.crash();
      }
      break;
    case "crash":
      if (run.pending().includes("mcp.watch")) run.crash();
      else if (run.pending().includes("mcp.list")) run.fail("mcp.list", { code: "mcp_connection_lost" });
      break;
    case "refresh":
      commands.push(key);
      run.refresh(one.rule, key);
      break;
    case "restart":
      restart(run);
  }
}

/** What must hold after every step. That no harmful port is dropped, and that states come back, the desk checks. */
function check({ run, commands }: Life): void {
  const pending = run.pending();
  const count = (...kinds: PortKind[]) => pending.filter((kind) => kinds.includes(kind)).length;
  assert.ok(count("mcp.connect", "mcp.list", "mcp.watch", "mcp.close", "timer.set") <= 1, String(pending));
  assert.ok(count("question.ask") <= 1, String(pending));
  assert.equal(count("question.ask") === 1, run.child("question") !== undefined);
  const launches = run.desk.asks.flatMap(({ request }) =>
    request.port === "mcp.connect" ? [request.args.launch] : []
  );
  assert.deepEqual(launches, launches.map((_, index) => index + 1));
  const told = run.replies().map((reply) => reply.split(" ")[0] ?? "");
  assert.equal(new Set(told).size, told.length, "a command was answered twice");
  assert.ok(told.every((key) => commands.includes(key)));
}

/** Lets everything end well. */
function settleAll(life: Life): void {
  const { run } = life;
  for (let left = 30; run.pending().some((kind) => !["mcp.watch", "timer.set"].includes(kind)); left--) {
    assert.ok(left > 0, `it never settles: ${run.state()}`);
    settle(life, true);
  }
}

function checkEnd({ run, commands, declared, offersBefore }: Life): void {
  assert.ok(run.hasTag("rest"));
  assert.deepEqual(run.replies().map((reply) => reply.split(" ")[0]).sort(), [...commands].sort());
  if (offersBefore >= 0) assert.ok(run.offers().length > offersBefore, "the catalog was not answered");
  const { waiters, closers, isAwaited, isClosing, next } = run.context();
  assert.deepEqual([waiters, closers, isAwaited, isClosing, next], [[], [], false, false, null]);
  assert.deepEqual(run.context()["declaration"], declared);
  const left: { readonly [state: string]: PortKind } = { ready: "mcp.watch", backoff: "timer.set" };
  assert.deepEqual(run.pending(), [left[String(run.state())] ?? []].flat());
}

/** A server that runs is the one that was declared last, and was allowed if it must be. */
function checkServer({ run, allowed }: Life): void {
  if (run.state() !== "ready") return;
  const declaration = run.context()["declaration"] as McpDeclaration;
  const { declaration: started } = run.argsOf("mcp.connect") as { readonly declaration: McpDeclaration };
  assert.deepEqual(started, declaration);
  assert.ok(declaration.manifest.enabled && declaration.gate !== "denied");
  assert.ok(declaration.gate === "granted" || allowed.has(declaration.preview));
}

Deno.test("connection answers every command once and starts one server at a time, in any order of events", () => {
  const seen = new Set<unknown>();
  fc.assert(
    fc.property(anyDeclaration, fc.array(step, { maxLength: 30 }), (which, steps) => {
      const first = declarations[which] ?? declarationOf();
      const run = startConnection(first);
      const life: Life = { run, commands: [], declared: first, allowed: new Set(), offersBefore: -1 };
      for (const one of steps) {
        live(life, one);
        check(life);
        checkServer(life);
        seen.add(life.run.state());
      }
      // Whatever happened: whoever wants it now is answered, too.
      for (let more = 0; more < 2; more++) {
        settleAll(life);
        check(life);
        checkServer(life);
        checkEnd(life);
        live(life, { do: "open", isCommand: true });
      }
      settleAll(life);
      checkEnd(life);
    }),
    { numRuns: 1_000 },
  );
  // A property over events that never get anywhere would prove nothing.
  const { gating: _, unready: __, ...states } = connectionMachine.root.states;
  assert.deepEqual([...seen].sort(), Object.keys(states).sort());
});
