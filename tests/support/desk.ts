/** A desk for unit tests: records what a machine asks and posts, answers by hand, passes every state through JSON. */
import assert from "node:assert/strict";
import {
  type Actor,
  type AnyActorLogic,
  type AnyActorRef,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createActor,
  type InputFrom,
  StateMachine,
} from "xstate";
import { createPort, type Desk } from "../../actors/port.ts";
import type { CatalogSource } from "../../schemas/catalog.ts";
import { portArgs, type PortFailed, type PortKind, type PortRequest } from "../../schemas/effect.ts";
import { failure as makeFailure, type FailureCode } from "../../schemas/failure.ts";
import { type IntentId, rootKindOf } from "../../schemas/ids.ts";
import type { Json } from "../../schemas/json.ts";
import { type Outgoing, rootMessages, type Stamp } from "../../schemas/message.ts";
import type { SourceKind } from "../../schemas/provenance.ts";
import type { ToolDefinition } from "../../schemas/tool.ts";

/** One request that a machine made, and what became of it. */
export interface Ask {
  readonly id: IntentId;
  readonly request: PortRequest;
  state: "pending" | "settled" | "failed" | "dropped";
  cancelAsked: boolean;
  /** The port that waits for the answer; replaced when the machine is restored. */
  ref: AnyActorRef | undefined;
}

/** A desk that remembers everything, in order. `seq` is the entry that began the crank at hand. */
export interface TestDesk extends Desk {
  seq: number;
  readonly asks: Ask[];
  readonly posts: Outgoing[];
  /** Kinds of asks and posts in the one order in which they were made: `tool.call`, `note turn.planned`. */
  readonly order: string[];
  post(outgoing: Outgoing): void;
}

/** Makes a desk. Requests and posts must be JSON and fit their schemas, or the test fails at once. */
export function createTestDesk(): TestDesk {
  const asks: Ask[] = [];
  const posts: Outgoing[] = [];
  const order: string[] = [];
  let booked = 0;
  let bookedAt = 0;
  const find = (id: IntentId) => {
    const ask = asks.find((one) => one.id === id);
    assert.ok(ask, `no port was booked as ${id}`);
    return ask;
  };
  return {
    seq: 1,
    asks,
    posts,
    order,
    book(request) {
      if (bookedAt !== this.seq) [bookedAt, booked] = [this.seq, 0];
      const id = `${this.seq}.${booked++}`;
      assertJson(request, `the request ${request.port}`);
      portArgs[request.port].parse(request.args);
      asks.push({ id, request, state: "pending", cancelAsked: false, ref: undefined });
      order.push(request.port);
      return id;
    },
    register(id, request, ref, cancelAsked) {
      const ask = find(id);
      assert.deepEqual(request, ask.request, `the port ${id} came back with another request`);
      assert.equal(cancelAsked, ask.cancelAsked);
      ask.ref = ref;
    },
    cancel(id) {
      find(id).cancelAsked = true;
    },
    drop(id) {
      const ask = find(id);
      // K11: leaving a state while such a port is pending is a kernel error.
      assert.equal(ask.request.effect, "idempotent", `the ${ask.request.effect} port ${id} was dropped`);
      ask.state = "dropped";
    },
    post(outgoing) {
      assertJson(outgoing, `the ${outgoing.kind}`);
      if (outgoing.kind === "message") {
        const kind = rootKindOf(outgoing.to);
        assert.ok(kind, `no kind of root has the address ${outgoing.to}`);
        rootMessages[kind].parse(outgoing.message);
      }
      posts.push(outgoing);
      order.push(outgoing.kind === "note" ? `note ${outgoing.type}` : outgoing.kind);
    },
  };
}

/** Provides a machine, and every machine that it may start, with a port and a `post` that lead to `desk`. */
export function wireForTest<M extends AnyStateMachine>(machine: M, desk: TestDesk): M {
  const actors: Record<string, AnyActorLogic> = {};
  for (const [name, logic] of Object.entries(machine.implementations.actors)) {
    actors[name] = logic instanceof StateMachine ? wireForTest(logic, desk) : logic as AnyActorLogic;
  }
  const post = (_: unknown, params: Outgoing) => desk.post(params);
  return machine.provide({ actors: { ...actors, port: createPort(desk) }, actions: { post } } as never) as M;
}

/** Answers the oldest pending ask of a kind with a value. `at` in milliseconds. */
export function settlePort(desk: TestDesk, kind: PortKind, value: Json, at: number): void {
  settleAsk(pendingOf(desk, kind), value, { at, epoch: 1 });
}

interface Moment {
  readonly at: number;
  readonly epoch: number;
}

function settleAsk(ask: Ask, value: Json, { at, epoch }: Moment): void {
  ask.state = "settled";
  ask.ref?.send({ type: "port.settled", done: { value: throughJson(value), at, epoch, intent: ask.id } });
}

/** What {@linkcode failPort} tells a machine; the rest has defaults. */
export interface FailureSketch {
  readonly status?: PortFailed["status"];
  readonly code?: FailureCode;
  readonly message?: string;
  /** Default true. */
  readonly retryable?: boolean;
  readonly retryAfterMs?: number;
}

/** Fails the oldest pending ask of a kind: `failed`, `tool_unreachable`, or `tool_failed` if for good, unless the sketch says otherwise. */
export function failPort(desk: TestDesk, kind: PortKind, sketch: FailureSketch, moment: Moment): void {
  const ask = pendingOf(desk, kind);
  ask.state = "failed";
  const failure = {
    ...makeFailure(
      sketch.code ?? (sketch.retryable === false ? "tool_failed" : "tool_unreachable"),
      sketch.message ?? "made up by a test",
    ),
    retryable: sketch.retryable ?? true,
    ...(sketch.retryAfterMs === undefined ? {} : { retryAfterMs: sketch.retryAfterMs }),
  };
  const failed: PortFailed = { status: sketch.status ?? "failed", failure, ...moment, intent: ask.id };
  ask.ref?.send({ type: "port.failed", failed });
}

/**
 * Persists, turns into JSON text and back, restores on the same desk, persists again: the two texts must be equal.
 * Returns the restored actor, started; the old one must not be used any more (K22: nothing is stopped).
 */
export function roundTrip<M extends AnyStateMachine>(machine: M, actor: Actor<M>): Actor<M> {
  const before = JSON.stringify(actor.getPersistedSnapshot());
  const snapshot = JSON.parse(before);
  const restored = createActor(machine, { snapshot } as never) as Actor<M>;
  watch(restored);
  restored.start();
  assert.equal(JSON.stringify(restored.getPersistedSnapshot()), before, "the state changed by a restore");
  const live = actor.getSnapshot() as AnyMachineSnapshot;
  assertJson(live.context, "the context");
  return restored;
}

/** One machine under test: every step is stamped, and its state passes through JSON afterwards. */
export interface Run {
  /** Time of the next step, in milliseconds; moves on by 1 after each. */
  now: number;
  /** The runtime that runs it; 1 unless a test says that it was started again. */
  epoch: number;
  readonly desk: TestDesk;
  /** The machine's state value. */
  state(): unknown;
  /** True if the state has the tag. */
  hasTag(tag: string): boolean;
  status(): string;
  context(): Record<string, unknown>;
  output(): unknown;
  /** The state as JSON text: what a snapshot holds. */
  persisted(): string;
  /** Goes on in an actor restored from that text, as after a crash. Every step does so too. */
  restore(): void;
  /** Changes the persisted state, as one that an earlier release wrote may differ, and goes on from there. */
  // deno-lint-ignore no-explicit-any
  rewrite(change: (state: any) => void): void;
  /** The state of a child, named by the ids on the way to it; undefined if it is gone. */
  child(...path: readonly string[]): AnyMachineSnapshot | undefined;
  /** Sends a message to the machine, or to a child named by the ids on the way to it. */
  send(message: { readonly type: string }, stamp?: Partial<Stamp>, path?: readonly string[]): void;
  /** Answers the oldest pending ask of a kind, or the one that is `younger` places behind it. */
  settle(kind: PortKind, value: Json, younger?: number): void;
  fail(kind: PortKind, sketch?: FailureSketch): void;
  /** Kinds of the asks that nobody answered yet, in order. */
  pending(): PortKind[];
  /** Kinds of all asks so far, in order. */
  kinds(): PortKind[];
  /** Args of the latest ask of a kind. */
  argsOf(kind: PortKind): unknown;
  /** Messages posted to other roots so far. */
  messages(): readonly { readonly to: string; readonly type: string; readonly message: unknown }[];
  /** Notes posted so far. */
  notes(): readonly { readonly type: string; readonly body: Json }[];
}

/** Starts a machine on a new desk, as the kernel would, but with answers given by hand. */
export function startRun<M extends AnyStateMachine>(machine: M, input: InputFrom<M>): Run {
  const desk = createTestDesk();
  const wired = wireForTest(machine, desk);
  let actor = createActor(wired, { input: throughJson(input) } as never) as Actor<M>;
  let error = watch(actor);
  const step = (act: () => void) => {
    desk.seq += 1;
    act();
    if (error.seen !== undefined) throw error.seen;
    actor = roundTrip(wired, actor);
    error = watch(actor);
    run.now += 1;
  };
  const snapshot = () => actor.getSnapshot() as AnyMachineSnapshot;
  const run: Run = {
    now: 1_000,
    epoch: 1,
    desk,
    state: () => snapshot().value,
    hasTag: (tag) => snapshot().hasTag(tag),
    status: () => snapshot().status,
    context: () => snapshot().context as Record<string, unknown>,
    output: () => snapshot().output,
    persisted: () => JSON.stringify(actor.getPersistedSnapshot()),
    restore: () => {
      actor = roundTrip(wired, actor);
      error = watch(actor);
    },
    rewrite: (change) => {
      const state = JSON.parse(JSON.stringify(actor.getPersistedSnapshot()));
      change(state);
      actor = createActor(wired, { snapshot: state } as never) as Actor<M>;
      error = watch(actor);
      actor.start();
    },
    child: (...path) => {
      let found: AnyMachineSnapshot | undefined = snapshot();
      for (const id of path) found = found?.children[id]?.getSnapshot() as AnyMachineSnapshot | undefined;
      return found;
    },
    send: (message, stamp = {}, path = []) =>
      step(() => {
        let target: AnyActorRef | undefined = actor as AnyActorRef;
        for (const id of path) target = target?.getSnapshot().children[id];
        assert.ok(target, `no child ${path.join(" / ")}`);
        target.send({ ...throughJson(message), at: run.now, seq: desk.seq, epoch: run.epoch, ...stamp });
      }),
    settle: (kind, value, younger) =>
      step(() => settleAsk(pendingOf(desk, kind, younger), value, { at: run.now, epoch: run.epoch })),
    fail: (kind, sketch = {}) => step(() => failPort(desk, kind, sketch, { at: run.now, epoch: run.epoch })),
    pending: () => desk.asks.filter((ask) => ask.state === "pending").map((ask) => ask.request.port),
    kinds: () => desk.asks.map((ask) => ask.request.port),
    argsOf: (kind) => desk.asks.findLast((ask) => ask.request.port === kind)?.request.args,
    messages: () =>
      desk.posts.flatMap((one) =>
        one.kind === "message" ? [{ to: one.to, type: one.message.type, message: one.message }] : []
      ),
    notes: () => desk.posts.flatMap((one) => one.kind === "note" ? [{ type: one.type, body: one.body }] : []),
  };
  desk.seq = 0;
  step(() => actor.start());
  return run;
}

function pendingOf(desk: TestDesk, kind: PortKind, younger = 0): Ask {
  const asks = desk.asks.filter((one) => one.state === "pending" && one.request.port === kind);
  const ask = asks[younger];
  const open = desk.asks.filter((one) => one.state === "pending").map((one) => one.request.port);
  assert.ok(ask, `no ${kind} is pending; pending: ${open.join(", ") || "nothing"}`);
  return ask;
}

/** K23: every root has an error observer, or XState reports the error after the test. */
function watch(actor: Actor<AnyStateMachine>): { seen: unknown } {
  const error: { seen: unknown } = { seen: undefined };
  actor.subscribe({ error: (seen: unknown) => error.seen = seen });
  return error;
}

/** A value as it comes back from the journal. */
export function throughJson<T>(value: T): T {
  return value === undefined ? value : JSON.parse(JSON.stringify(value));
}

function assertJson(value: unknown, what: string): void {
  assert.deepEqual(throughJson(value), withoutUndefined(value), `${what} holds what JSON does not keep`);
}

/** A field that is undefined reads the same as one that is absent, so it is no harm. */
function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) {
    return value;
  }
  const kept = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(kept.map(([key, one]) => [key, withoutUndefined(one)]));
}

/** A tool as a source offers it: harmless, unless `changes` says otherwise. */
export function toolOf(name: string, changes: Partial<ToolDefinition> = {}): ToolDefinition {
  return {
    name,
    title: name,
    description: "A tool of a test",
    version: "1",
    inputSchema: { type: "object" },
    riskLevel: "low",
    sideEffects: false,
    resources: [],
    timeoutMs: 30_000,
    outputPolicy: { modelCharactersMax: 12_000 },
    effectClass: "idempotent",
    approvalPolicy: "auto",
    parallelSafe: false,
    ...changes,
  };
}

/** A source that offers tools: built in, or the MCP server `docs` at a third party. */
export function sourceOf(
  kind: SourceKind,
  tools: readonly ToolDefinition[],
  changes: Partial<CatalogSource> = {},
): CatalogSource {
  const isMcp = kind === "mcp";
  const server = changes.server ?? "docs";
  return {
    kind,
    provenance: {
      source: kind,
      origin: isMcp ? `server ${server}` : kind === "agent" ? "tools/" : "built in",
      trust: isMcp ? "third_party" : "trusted_local",
    },
    adapter: isMcp ? "mcp" : kind === "agent" ? "authored" : "builtin",
    remote: false,
    tools: [...tools],
    ...(isMcp ? { server } : {}),
    ...changes,
  };
}
