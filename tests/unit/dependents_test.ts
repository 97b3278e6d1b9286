/** What depends on a root that crashes is set right with it, and nothing else: rest_for_one, in a whole runtime (K23). */
import assert from "node:assert/strict";
import { assign } from "xstate";
import { withWaiter } from "../../actors/connection_answers.ts";
import type { ConnectionContext, ConnectionEvent } from "../../actors/connection_context.ts";
import { renewalIn } from "../../actors/catalog_rules.ts";
import type { CatalogEvent } from "../../actors/catalog.ts";
import { internOffer } from "../../actors/library.ts";
import { wireMachines } from "../../actors/wiring.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import { HostPolicy } from "../../schemas/config.ts";
import type { Entry } from "../../schemas/entry.ts";
import { connectionAddress, type RootAddress } from "../../schemas/ids.ts";
import { canonicalJson, type Json } from "../../schemas/json.ts";
import { Script } from "../../schemas/script.ts";
import type { Performance, PerformerResult } from "../../src/effects/performer.ts";
import type { PortDesk } from "../../src/kernel/machines.ts";
import { quarantine } from "../../src/kernel/poison.ts";
import { createScriptedProvider } from "../../src/model/scripted.ts";
import type { TurnReport } from "../../src/turn_report.ts";
import { declarationOf, greeting } from "../support/connection.ts";
import { sourceOf, toolOf } from "../support/desk.ts";
import { flush } from "../support/puppet.ts";
import { performersWith } from "../support/model_performers.ts";
import { openStage, settled, type Stage } from "../support/stage.ts";
import { digestNow } from "../support/world.ts";

/** When the machines break, by the time of what they are told: what is replayed later breaks as it did. */
interface Trouble {
  connection: (atMs: number) => boolean;
  catalog: (atMs: number) => boolean;
}

const supervisor = "supervisor/main";
/** Longer than three restarts with all their waits. */
const soonMs = 10_000;

function wiredWith(trouble: Trouble) {
  return (desk: PortDesk) => {
    const wired = wireMachines(desk);
    const noteWaiter = assign(
      ({ context, event }: { readonly context: ConnectionContext; readonly event: ConnectionEvent }) => {
        if (context.declaration.server === "bad" && "at" in event && trouble.connection(event.at)) {
          throw new Error("The connection broke");
        }
        return withWaiter(context, event);
      },
    );
    const keepRenewal = assign(({ event }: { readonly event: CatalogEvent }) => {
      if (trouble.catalog(event.at)) throw new Error("The catalog broke");
      return renewalIn(event);
    });
    return {
      ...wired,
      connection: wired.connection.provide({ actions: { noteWaiter } as never }),
      catalog: wired.catalog.provide({ actions: { keepRenewal } as never }),
    };
  };
}

/** Lists one tool of the server that a connection leads to. */
function list({ root, request }: Performance<"mcp.list">): Promise<PerformerResult> {
  const { server } = request.args.declaration;
  const source = sourceOf("mcp", [toolOf("search")], { server, binding: root });
  const offer = digestNow(new TextEncoder().encode(canonicalJson(source as unknown as Json)));
  internOffer(offer, source);
  return Promise.resolve({ status: "ok", value: { offer, tools: 1, rejectedCount: 0, rejected: [] } });
}

interface Scene {
  readonly stage: Stage;
  readonly session: RootAddress;
  readonly connection: (server: string) => RootAddress;
  readonly catalog: RootAddress;
  prompt(): Promise<TurnReport>;
  entries(root: RootAddress): Promise<Entry[]>;
  /** Types of the messages that a root took. */
  inputs(root: RootAddress): Promise<string[]>;
  status(root: RootAddress): string | undefined;
}

async function openScene(trouble: Partial<Trouble>, earlier?: Scene): Promise<Scene> {
  const all = { connection: () => false, catalog: () => false, ...trouble };
  const script = { answers: Array.from({ length: 8 }, () => ({ text: "finished" })) };
  const provider = createScriptedProvider(Script.parse(script));
  const before = earlier === undefined ? {} : { world: earlier.stage.world, disk: earlier.stage.disk };
  const stage = await openStage({
    ...before,
    runtime: {
      wire: wiredWith(all),
      performers: (services) => ({
        ...performersWith({ tools: [], ledger: [], providerOf: () => provider })(services),
        "mcp.connect": () => Promise.resolve({ status: "ok", value: greeting }),
        "mcp.list": list,
        "mcp.watch": ({ signal }) =>
          new Promise((resolve) => {
            const failure = { code: "interrupted" as const, message: "Stopped", retryable: false };
            signal.addEventListener("abort", () => resolve({ status: "canceled", failure }), { once: true });
          }),
        "mcp.close": () => Promise.resolve({ status: "ok", value: { code: 0, signal: null, stderr: "" } }),
      }),
    },
  });
  const { runtime, world } = stage;
  const session = earlier?.session ?? await settled(
    world,
    runtime.createSession({
      agent: AgentDefinition.parse({ name: "test", model: "scripted/test", capabilities: ["mcp.connect:*"] }),
      coreRevision: "core-1",
      home: "embedded:test",
      sources: [],
      policy: HostPolicy.parse({}),
      servers: ["bad", "docs"].map((server) => declarationOf({ server })),
    }),
  );
  await flush(stage);
  const entries = async (root: RootAddress) => {
    await flush(stage);
    return await stage.entries(root);
  };
  return {
    stage,
    session,
    connection: (server) => connectionAddress(server, session),
    catalog: session.replace("session", "catalog"),
    prompt: async () => {
      const { report } = await settled(world, runtime.prompt(session, "Hello"));
      await world.advance(soonMs);
      return await settled(world, report);
    },
    entries,
    inputs: async (root) => (await entries(root)).flatMap(({ kind, type }) => kind === "input" ? [type] : []),
    status: (root) => runtime.kernel.records.get(root)?.status,
  };
}

/** Which servers a session was told of last, and what became of each. */
async function serversOf(scene: Scene): Promise<string[]> {
  const issued = (await scene.entries(scene.session)).filter(({ type }) => type === "catalog.issued").at(-1);
  const { message } = issued?.body as unknown as { readonly message: { readonly servers: readonly Told[] } };
  return message.servers.map(({ server, tools, failure }) => `${server} ${failure?.code ?? tools}`);
}

interface Told {
  readonly server: string;
  readonly tools: number;
  readonly failure?: { readonly code: string };
}

Deno.test("connection that breaks on being opened is restarted, and asked again by its catalog alone", async () => {
  const state = { untilMs: 0 };
  const scene = await openScene({ connection: (atMs) => atMs < state.untilMs });
  state.untilMs = scene.stage.world.now() + 100;
  assert.equal((await scene.prompt()).outcome, "completed");
  assert.deepEqual(await serversOf(scene), ["bad 1", "docs 1"]);
  const poisoned = (await scene.entries(scene.connection("bad"))).filter(({ type }) => type === "poisoned");
  assert.equal(poisoned.length, 1);
  assert.deepEqual(await scene.inputs(scene.connection("bad")), ["connection.open"], "it came again");
  assert.deepEqual(await scene.inputs(scene.connection("docs")), ["connection.open"], "another one was not");
  const news = ["catalog.renew", "connection.offered", "child.restarted", "connection.offered"];
  assert.deepEqual(await scene.inputs(scene.catalog), news);
  const restarts = (await scene.entries(supervisor)).filter(({ kind, type }) =>
    kind === "intent" && type === "child.start"
  );
  assert.deepEqual(
    restarts.map(({ body }) => (body as { readonly args: { readonly child: string } }).args.child),
    [scene.connection("bad")],
  );
});

Deno.test("connection that breaks while it is open makes only its own tools stale", async () => {
  const state = { fromMs: Infinity };
  const scene = await openScene({ connection: (atMs) => atMs === state.fromMs });
  await scene.prompt();
  const { runtime, world } = scene.stage;
  state.fromMs = world.now();
  const reports = await settled(world, runtime.refreshServers(scene.session));
  assert.deepEqual(reports.map(({ server, result }) => [server, result]), [["bad", "failed"], [
    "docs",
    "ready",
  ]]);
  await world.advance(soonMs);
  const stale = (await scene.entries(scene.session)).filter(({ type }) => type === "catalog.stale");
  const told = stale.map(({ body }) =>
    (body as unknown as { readonly message: Told & { readonly rule: string } }).message
  );
  assert.deepEqual(told.map(({ server, rule }) => [server, rule]), [["bad", "disconnect"]]);
  assert.equal((await scene.prompt()).outcome, "completed");
  assert.deepEqual(await serversOf(scene), ["bad 1", "docs 1"]);
});

Deno.test("connection that always breaks is quarantined after three restarts; the session goes on with its other servers (F14)", async () => {
  const scene = await openScene({ connection: () => true });
  assert.equal((await scene.prompt()).outcome, "completed");
  assert.equal(scene.status(scene.connection("bad")), "quarantined");
  for (const root of [scene.connection("docs"), scene.catalog, scene.session]) {
    assert.equal(scene.status(root), "active");
  }
  assert.deepEqual(await serversOf(scene), ["bad root_quarantined", "docs 1"]);
  const poisoned = (await scene.entries(scene.connection("bad"))).filter(({ type }) => type === "poisoned");
  assert.equal(poisoned.length, 4);
  // It is remembered: nobody waits for it in a later turn, nor in a later process.
  assert.equal((await scene.prompt()).outcome, "completed");
  scene.stage.crash();
  const after = await openScene({ connection: () => true }, scene);
  assert.equal((await after.prompt()).outcome, "completed");
  assert.deepEqual(await serversOf(after), ["bad root_quarantined", "docs 1"]);
  assert.equal((await after.entries(scene.connection("bad"))).length, poisoned.length + 1);
});

Deno.test("catalog that breaks on a renewal is asked again by its session", async () => {
  const state = { untilMs: 0 };
  const scene = await openScene({ catalog: (atMs) => atMs < state.untilMs });
  state.untilMs = scene.stage.world.now() + 100;
  assert.equal((await scene.prompt()).outcome, "completed");
  assert.deepEqual(await serversOf(scene), ["bad 1", "docs 1"]);
});

Deno.test("catalog that always breaks is quarantined, and its session refuses prompts by name", async () => {
  const scene = await openScene({ catalog: () => true });
  const { outcome, failure } = await scene.prompt();
  assert.deepEqual([outcome, failure?.code], ["failed", "root_quarantined"]);
  assert.equal(scene.status(scene.catalog), "quarantined");
  const again = await scene.prompt();
  assert.deepEqual([again.outcome, again.failure?.code], ["failed", "root_quarantined"]);
  assert.match(again.failure?.message ?? "", /catalog\/ses_.* is quarantined: It crashed more often/);
});

Deno.test("news that a root is out of service outlives a kill at once after its commit, and comes once (K13)", async () => {
  const scene = await openScene({});
  await scene.prompt();
  const { kernel } = scene.stage.runtime;
  kernel.paused = true;
  quarantine(kernel, scene.connection("bad"), "planted by a test");
  await flush(scene.stage);
  assert.ok(!(await scene.inputs(supervisor)).includes("child.quarantined"), "nobody has heard of it");
  scene.stage.crash();
  const after = await openScene({}, scene);
  for (const root of [supervisor, scene.catalog]) {
    const news = (await after.inputs(root)).filter((type) => type === "child.quarantined");
    assert.equal(news.length, 1, root);
  }
  assert.equal((await after.prompt()).outcome, "completed");
  assert.deepEqual(await serversOf(after), ["bad root_quarantined", "docs 1"]);
});
