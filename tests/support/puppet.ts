/** A root whose machine does what a test's message says, and performers that end when the test says so. */
import assert from "node:assert/strict";
import { assign, enqueueActions, sendTo, setup } from "xstate";
import { post } from "../../actors/outbox.ts";
import { createPort, port } from "../../actors/port.ts";
import { wireMachines } from "../../actors/wiring.ts";
import type { CallTask } from "../../schemas/call_pause.ts";
import type { PortRequest, PortRequestOf } from "../../schemas/effect.ts";
import type { Entry } from "../../schemas/entry.ts";
import type { Json } from "../../schemas/json.ts";
import type { Outgoing } from "../../schemas/message.ts";
import type { EffectClass, Mechanism } from "../../schemas/tool.ts";
import type { Performance, PerformerResult } from "../../src/effects/performer.ts";
import { type Acknowledgements, submit } from "../../src/kernel/command.ts";
import { create } from "../../src/kernel/create.ts";
import type { PortDesk } from "../../src/kernel/machines.ts";
import type { Kernel } from "../../src/kernel/kernel.ts";
import { openStage, settled, type Stage, type StageOptions } from "./stage.ts";
import { rootNamed } from "./units.ts";

/** One thing that a puppet does on a message, in order. */
export type Act =
  | { readonly do: "ask"; readonly id: string; readonly request: PortRequest }
  | { readonly do: "post"; readonly outgoing: Outgoing; readonly times?: number }
  | { readonly do: "stop" | "cancel"; readonly id: string }
  | { readonly do: "reply"; readonly value: Json }
  | { readonly do: "throw" };

/** What a puppet heard, as it was told. */
export type Heard = { readonly type: string } & Record<string, Json>;

interface PuppetContext {
  readonly heard: readonly Heard[];
}

type PuppetEvent = { readonly type: string } & Record<string, unknown>;

function hear({ context, event }: { readonly context: PuppetContext; readonly event: PuppetEvent }) {
  const { acts: _, ...heard } = event;
  // As data: an error in a context would hash as {} (K25).
  return { heard: [...context.heard, JSON.parse(JSON.stringify(heard)) as Heard] };
}

/**
 * Acts on `puppet.act`, spins on `puppet.spin`, talks to itself for ever on `puppet.talk`, rests unless it is `puppet.busy`, breaks on an outcome that says
 * "poison", and on its failure too if it says "stubborn".
 */
export const puppetMachine = setup({
  types: { context: {} as PuppetContext, events: {} as PuppetEvent, tags: "" as "rest" },
  actors: { port },
  actions: {
    post,
    hear: assign(hear),
    act: enqueueActions(({ enqueue, event }) => {
      for (const act of event["acts"] as readonly Act[]) {
        if (act.do === "throw") throw new Error("The puppet broke");
        if (act.do === "ask") enqueue.spawnChild("port", { id: act.id, input: act.request });
        if (act.do === "stop") enqueue.stopChild(act.id);
        if (act.do === "cancel") enqueue.sendTo(act.id, { type: "port.cancel" });
        if (act.do === "post") {
          for (let n = act.times ?? 1; n > 0; n--) enqueue({ type: "post", params: act.outgoing });
        }
        if (act.do === "reply") {
          const command = event["command"] as never;
          enqueue({ type: "post", params: { kind: "reply", command, status: "ok", value: act.value } });
        }
      }
    }),
    breakOnPoison: ({ event }) => {
      const isPoison = "output" in event && JSON.stringify(event["output"]).includes("poison");
      const isStubborn = JSON.stringify(event["error"] ?? "").includes("stubborn");
      if (isPoison || isStubborn) throw new Error("The puppet broke on an outcome");
    },
  },
}).createMachine({
  id: "puppet",
  initial: "resting",
  options: { maxIterations: 1_000 },
  context: { heard: [] },
  on: {
    "puppet.act": { actions: ["hear", "act"] },
    "puppet.spin": { target: ".spinning" },
    "puppet.talk": { actions: ["hear", sendTo(({ self }) => self, { type: "puppet.talk" })] },
    "puppet.busy": { target: ".busy" },
    "puppet.rest": { target: ".resting" },
    "xstate.done.actor.*": { actions: ["breakOnPoison", "hear"] },
    "xstate.error.actor.*": { actions: ["breakOnPoison", "hear"] },
  },
  states: {
    resting: { tags: "rest" },
    busy: {},
    spinning: { always: { target: "whirling" } },
    whirling: { always: { target: "spinning" } },
  },
});

/** The machines of a runtime in which every session is a puppet. */
export function wirePuppets(desk: PortDesk) {
  const actors = { port: createPort(desk) };
  const actions = { post: (_: unknown, params: Outgoing) => desk.post(params) };
  return { ...wireMachines(desk), session: puppetMachine.provide({ actors, actions } as never) };
}

/** One effect that a performer was given. The test ends it. */
export interface Hand {
  readonly performance: Performance;
  end(result: PerformerResult): Promise<void>;
}

/** A call of a tool as a machine asks for it; which tool does not matter, unless an entry is named. */
export function callOf(
  effect: EffectClass,
  mechanism?: Mechanism,
  args: Record<string, unknown> = {},
): PortRequest {
  const entry = { catalog: `sha256:${"0".repeat(64)}`, name: "none" };
  return {
    port: "tool.call",
    effect,
    ...(mechanism === undefined ? {} : { mechanism }),
    args: { invocation: "call/0.0", entry, arguments: {}, origin: "model", attempt: 1, ...args },
  };
}

/** A call of a model. */
export const modelCall: PortRequest = {
  port: "model.generate",
  effect: "idempotent",
  args: {
    model: "scripted/test",
    turn: 1,
    step: 0,
    catalog: { hash: `sha256:${"0".repeat(64)}`, epoch: 1 },
    append: [],
    toolChoice: "auto",
    maxOutputTokens: 1,
  },
};

/** Looking after a task. */
export function watchOf(task: CallTask): PortRequest {
  const { effect, args } = callOf("idempotent") as PortRequestOf<"tool.call">;
  return { port: "mcp.task", effect, args: { ...args, task } };
}

/** A timer. */
export function timerAt(dueAtMs: number, jitterMs = 0): PortRequest {
  return { port: "timer.set", effect: "idempotent", args: { dueAtMs, jitterMs, label: "test" } };
}

/** A question about an approval. */
export function questionUntil(deadlineAtMs: number): PortRequest {
  const subject = { kind: "approval" as const, invocation: "turn/1/call/0.0", tool: "pay", title: "Pay" };
  const shown = { risk: "high", reason: "Policy asks", preview: "{}", rule: "pay {}" };
  return {
    port: "question.ask",
    effect: "idempotent",
    args: { subject: { ...subject, ...shown } },
    deadlineAtMs,
  };
}

/** An effect that went well; the value serves for a model's answer, too. */
export function ok(value: Json = { text: "done", calls: [] }): PerformerResult {
  return { status: "ok", value };
}

/** A puppet on a stage. */
export interface Puppet {
  readonly stage: Stage;
  readonly kernel: Kernel;
  readonly root: string;
  /** Effects that were started and not ended, oldest first. */
  readonly hands: readonly Hand[];
  /** Gives a message as a command and lets everything run; time does not pass. */
  tell(message: Heard, key?: string): Promise<Acknowledgements>;
  /** The same for `puppet.act`. */
  act(...acts: readonly Act[]): Promise<Acknowledgements>;
  heard(): readonly Heard[];
  entries(): Promise<Entry[]>;
  /** `kind type` of every entry. */
  lines(): Promise<string[]>;
  /** Kinds of the puppet's rows in the store, but for those that every root or command has. */
  rows(): string[];
}

/** Options of {@linkcode openPuppet}: `isNew` false finds the puppet of an earlier stage on the same disk. */
export interface PuppetOptions extends StageOptions {
  readonly isNew?: boolean;
}

/** Opens a stage with one puppet on it. */
export async function openPuppet(options: PuppetOptions = {}): Promise<Puppet> {
  const hands: Hand[] = [];
  const root = rootNamed(1);
  let keys = 0;
  const stage = await openStage({
    ...options,
    runtime: {
      wire: wirePuppets,
      performers: () => {
        const perform = (performance: Performance) => {
          const { promise, resolve } = Promise.withResolvers<PerformerResult>();
          const hand: Hand = {
            performance,
            end: async (result) => {
              hands.splice(hands.indexOf(hand), 1);
              resolve(result);
              await flush(stage);
            },
          };
          hands.push(hand);
          return promise;
        };
        const kinds = ["model.generate", "tool.call", "tool.verify", "mcp.call", "mcp.task"];
        return Object.fromEntries(kinds.map((kind) => [kind, perform])) as never;
      },
      ...options.runtime,
    },
  });
  const { kernel } = stage.runtime;
  if (options.isNew ?? true) {
    await settled(
      stage.world,
      create(kernel, { address: root, kind: "session", input: {}, title: "puppet" }),
    );
  }
  const tell = async (message: Heard, key = `key${++keys}@${kernel.journal.epoch}`) => {
    const ref = { principal: "operator:test", key };
    const given = await settled(stage.world, submit(kernel, { root, message, ref }));
    await flush(stage);
    return given;
  };
  const puppet: Puppet = {
    stage,
    kernel,
    root,
    hands,
    tell,
    act: (...acts) => tell({ type: "puppet.act", acts: acts as unknown as Json }),
    heard: () => {
      const live = kernel.roots.get(root);
      assert.ok(live, "the puppet does not live");
      return (live.persisted() as unknown as { context: PuppetContext }).context.heard;
    },
    entries: async () => {
      await flush(stage);
      return await stage.entries(root);
    },
    lines: async () => (await puppet.entries()).map((entry) => `${entry.kind} ${entry.type}`),
    rows: () => {
      const common = ["meta", "writer", "root", "log", "head", "snap", "blob", "cmd", "reply"];
      const own = stage.disk.rows().filter(({ key }) => key.some((part) => String(part).startsWith(root)));
      return own.map(({ key }) => String(key[0])).filter((kind) => !common.includes(kind));
    },
  };
  return puppet;
}

/** Lets everything run and be written, unless the store hangs; time does not pass. */
export async function flush({ world, runtime }: Pick<Stage, "world" | "runtime">): Promise<void> {
  for (let turns = 0; turns < 4; turns++) {
    await world.settle();
    runtime.journal.writer.urge();
  }
  await world.settle();
}

/** Kills the process and starts it again on the same disk, in the same world. */
export async function reopen(puppet: Puppet, options: PuppetOptions = {}): Promise<Puppet> {
  const { world, disk } = puppet.stage;
  puppet.stage.crash();
  return await openPuppet({ world, disk, isNew: false, ...options });
}
