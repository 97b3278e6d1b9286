/** Whether every message has a sender, and what is said of an actor is what its machine would do. */
import assert from "node:assert/strict";
import type { AnyStateMachine } from "xstate";
import { invocationMachine } from "../../actors/invocation.ts";
import { questionMachine } from "../../actors/question.ts";
import { wireMachines } from "../../actors/wiring.ts";
import { turnMachine } from "../../actors/turn.ts";
import type { Entry } from "../../schemas/entry.ts";
import { rootMessages } from "../../schemas/message.ts";
import { CrankDesk } from "../../src/kernel/desk.ts";
import type { Host } from "../../src/host/host.ts";
import type { ActorState } from "../../src/why/actor_state.ts";
import { Historian } from "../../src/why/history.ts";
import { readLive } from "../../src/why/read_actors.ts";
import { explain, parentOf } from "../../src/why/reason.ts";
import { RootViews } from "../../src/why/root_view.ts";
import { sendingOf } from "../../src/why/senders.ts";
import { readTree } from "../../src/why/tree.ts";
import { flush, openPuppet, timerAt } from "../support/puppet.ts";
import { openStage, settled, type Stage, type StageOptions } from "../support/stage.ts";

/** Events of a machine in all its states, but for those of ports and children. */
function eventsOf(machine: AnyStateMachine): readonly string[] {
  const nodes = [machine.root, ...Object.values(machine.states)];
  const events = nodes.flatMap((node) => [...node.transitions.keys()]);
  return [...new Set(events)].filter((event) => event !== "" && !event.startsWith("xstate."));
}

Deno.test("senders are known of every message that a root of any kind takes", () => {
  for (const [kind, schema] of Object.entries(rootMessages)) {
    const types = schema.options.map((option) => option.shape.type.value);
    assert.ok(types.length > 0, kind);
    for (const type of types) assert.ok((sendingOf(type)?.by.length ?? 0) > 0, `${kind}: ${type}`);
  }
});

Deno.test("senders are known of every event that any machine names", () => {
  const machines = { ...wireMachines(new CrankDesk()), turnMachine, invocationMachine, questionMachine };
  for (const [name, machine] of Object.entries(machines)) {
    for (const event of eventsOf(machine as AnyStateMachine)) {
      assert.ok(sendingOf(event) !== undefined, `${name}: ${event}`);
    }
  }
});

/** A store as commands read it, on a stage. */
function hostOf({ runtime }: Stage, isOwned = true): Host {
  const { journal, kernel } = runtime;
  return {
    owner: undefined,
    listRoots: () => Promise.resolve(runtime.listRoots()),
    readHead: (root) => journal.readHead(root),
    readPages: (root, fromSeq) => journal.readPages(root, fromSeq),
    readBlob: (digest) => journal.readBlob(digest),
    readActors: (root) => Promise.resolve(isOwned ? readLive(kernel, root) : undefined),
    follow: (root, fromSeq) => journal.readPages(root, fromSeq),
    listTasks: () => Promise.resolve([]),
    listTokens: () => Promise.resolve([]),
    close: () => Promise.resolve(),
  };
}

async function viewsOf(stage: Stage, isOwned = true): Promise<RootViews> {
  await flush(stage);
  return await settled(stage.world, RootViews.open(hostOf(stage, isOwned)));
}

/** A session whose one call, of a tool that does not end, is under way; gives all its actors. */
async function callUnderWay(tool: NonNullable<StageOptions["tools"]>[number]) {
  const stage = await openStage({
    tools: [{ work: () => new Promise(() => {}), ...tool }],
    answers: [{ calls: [{ tool: tool.name, arguments: {} }] }, { text: "finished" }],
  });
  const session = await stage.session();
  await settled(stage.world, stage.runtime.prompt(session, "Hello"));
  await flush(stage);
  const actors = readLive(stage.runtime.kernel, session)?.actors ?? [];
  const call = actors.find(({ machine }) => machine === "invocation");
  assert.ok(call !== undefined, "no call is under way");
  return { stage, session, actors, call };
}

Deno.test("why says what time-out does by the call's own guards: harmless calls are made again or end, harmful ones are in doubt", async () => {
  const toOf = async (effect: "idempotent" | "non_idempotent") => {
    const { call } = await callUnderWay({ name: "work", effect });
    const [wait] = call.waits;
    assert.deepEqual([call.state, wait?.port, wait?.words], [
      "running",
      "tool.call",
      "the outcome of the tool work",
    ]);
    assert.equal(wait?.untilMs, 1_800_000_000_000 + 30_000);
    return wait?.lateTo;
  };
  assert.deepEqual(await toOf("idempotent"), ["timedOut"]);
  assert.deepEqual(await toOf("non_idempotent"), ["timedOut", "uncertain"]);
});

Deno.test("why knows the same of a live session as of its journal, and since when", async () => {
  const { stage, session } = await callUnderWay({ name: "work" });
  const begunAtMs = stage.world.now();
  await stage.world.advance(5_000);
  // What moves nobody makes nothing younger.
  await settled(stage.world, stage.runtime.prompt(session, "And then?"));
  const [live, stored] = await Promise.all([viewsOf(stage), viewsOf(stage, false)]);
  const [ofLive, ofStored] = await settled(stage.world, Promise.all([live.of(session), stored.of(session)]));
  assert.ok((ofLive?.actors.length ?? 0) >= 3);
  assert.deepEqual(ofLive?.actors, ofStored?.actors);
  assert.deepEqual([ofLive?.live, ofStored?.live], [{ isHeld: false, mail: 0 }, undefined]);
  for (const { address } of ofLive?.actors ?? []) {
    const request = { address, nowMs: stage.world.now() };
    const reason = await settled(stage.world, explain(live, ofLive!, request));
    assert.deepEqual([reason?.sinceMs, reason?.isLive], [begunAtMs, true], address);
  }
});

Deno.test("why says of a session that it waits for its turn, and of a turn that it waits for its call", async () => {
  const { stage, session } = await callUnderWay({ name: "work" });
  const views = await viewsOf(stage);
  const view = await settled(stage.world, views.of(session));
  const belowOf = async (address: string) => {
    const reason = await settled(stage.world, explain(views, view!, { address, nowMs: stage.world.now() }));
    return reason?.below.map((one) => `${one.address.slice(session.length + 1)} ${one.state}`);
  };
  assert.deepEqual(await belowOf(session), ["turn/1 staging"]);
  assert.deepEqual(await belowOf(`${session}/turn/1`), ["turn/1/call/0.0 running"]);
  assert.equal(
    await settled(stage.world, explain(views, view!, { address: `${session}/turn/2`, nowMs: 0 })),
    undefined,
  );
});

Deno.test("why says of a root that crashed that it is held, by which message, and how often it was restarted of late", async () => {
  const puppet = await openPuppet();
  const { stage, root } = puppet;
  await puppet.act({ do: "throw" });
  const explainNow = async () => {
    const views = await viewsOf(stage);
    const view = await settled(stage.world, views.of(root));
    const request = { address: root, nowMs: stage.world.now() };
    return await settled(stage.world, explain(views, view!, request));
  };
  const held = await explainNow();
  assert.deepEqual([held?.isHeld, held?.restarts], [true, 1]);
  assert.deepEqual([held?.poisoned?.message, held?.poisoned?.failure.code], ["puppet.act", "crank_failed"]);
  await stage.world.advance(5_000);
  const back = await explainNow();
  assert.deepEqual([back?.isHeld, back?.restarts], [false, 1]);
  await stage.world.advance(60_000);
  assert.equal((await explainNow())?.restarts, 0, "it counts no more");
});

Deno.test("why gives a timer's due time, with what is drawn on top, and where it leads", async () => {
  const puppet = await openPuppet();
  const dueAtMs = puppet.stage.world.now() + 60_000;
  await puppet.act({ do: "ask", id: "timer", request: timerAt(dueAtMs, 500) });
  const [actor] = readLive(puppet.kernel, puppet.root)?.actors ?? [];
  const waits = actor?.waits.map(({ words, untilMs }) => [words, untilMs]);
  assert.deepEqual(waits, [["a timer (test)", dueAtMs + 500]]);
});

Deno.test("why names each message with the states that it leads to, and marks those that only may", async () => {
  const { actors, call } = await callUnderWay({ name: "work" });
  const takes = ({ takes }: ActorState, type: string) => takes.find(({ message }) => message === type);
  assert.deepEqual(takes(call, "invocation.cancel"), {
    message: "invocation.cancel",
    to: [],
    byItself: false,
  });
  const puppet = await openPuppet();
  const [root] = readLive(puppet.kernel, puppet.root)?.actors ?? [];
  assert.deepEqual(root && takes(root, "puppet.busy"), {
    message: "puppet.busy",
    to: ["busy"],
    byItself: false,
  });
  const [supervisor] = readLive(puppet.kernel, "supervisor/main")?.actors ?? [];
  const crashed = { message: "child.crashed", to: ["deciding"], byItself: true };
  assert.deepEqual(supervisor && takes(supervisor, "child.crashed"), crashed);
  assert.equal(parentOf(actors, call.address), call.address.replace(/\/call\/0\.0$/, ""));
});

Deno.test("why of a journal that does not replay under this release says so, and where", async () => {
  const { stage, session } = await callUnderWay({ name: "work" });
  const entries = await stage.entries(session);
  const altered = entries.map((entry): Entry =>
    entry.kind === "intent" && entry.type === "tool.call" ? { ...entry, type: "tool.verify" } : entry
  );
  const read = async (given: readonly Entry[]) =>
    await settled(
      stage.world,
      new Historian().read({
        address: session,
        pages: (async function* () {
          yield given;
        })(),
        loadShelved: () => Promise.resolve(),
      }),
    );
  assert.equal((await read(entries)).unreadable, undefined);
  const { actors, unreadable } = await read(altered);
  assert.deepEqual(actors, []);
  assert.match(unreadable ?? "", /does not replay at \d+ under this release/);
});

Deno.test("tree has the roots of a session below it, what belongs to none first, and leaves older sessions out", async () => {
  const stage = await openStage();
  const [first, second] = [await stage.session(), await stage.session()];
  const views = await viewsOf(stage);
  const request = { sessionsMax: 1, nowMs: stage.world.now() };
  const newest = await settled(stage.world, readTree(views, request));
  const shown = newest.lines.map(({ depth, name, state }) => `${depth} ${name} ${state}`);
  assert.deepEqual(shown, [
    "0 supervisor/main idle",
    `0 ${second} idle`,
    `1 ${second.replace("session", "catalog")} ready`,
  ]);
  assert.equal(newest.leftOut, 1);
  const one = await settled(stage.world, readTree(views, { ...request, session: first }));
  assert.deepEqual(one.lines.map(({ address }) => address), [first, first.replace("session", "catalog")]);
});
