/** Machines run from tables do to the letter what XState's interpreter does with them: asks, posts, states. */
import type { CatalogRef } from "../../schemas/catalog.ts";
import type { PortRequest } from "../../schemas/effect.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import { HostPolicy } from "../../schemas/config.ts";
import { failure, retryableFailure } from "../../schemas/failure.ts";
import { PermissionMode } from "../../schemas/mode.ts";
import { Decision } from "../../schemas/question.ts";
import { localOperator } from "../../schemas/principal.ts";
import { modelAnswer, sealCatalog, toolReturn } from "../support/calls.ts";
import {
  catalogRoot,
  declarationOf,
  end,
  greeting,
  listing,
  listingOf,
  serverOf,
} from "../support/connection.ts";
import { toolOf } from "../support/desk.ts";
import { pausedCall } from "../support/tasks.ts";
import { Twins } from "../support/twins.ts";

const tools = [
  toolOf("look", { parallelSafe: true }),
  toolOf("peek"),
  toolOf("write", { effectClass: "non_idempotent", sideEffects: true, approvalPolicy: "prompt" }),
  toolOf("send", { effectClass: "non_idempotent", sideEffects: true, parallelSafe: true }),
  toolOf("put", { effectClass: "conditional", mechanism: "key" }),
  toolOf("check", { effectClass: "conditional", mechanism: "verify" }),
  toolOf("never", { approvalPolicy: "deny" }),
  toolOf("run", { review: "command", effectClass: "non_idempotent", sideEffects: true }),
];

function pickFrom<T>(items: readonly T[], random: () => number): T {
  return items[Math.floor(random() * items.length)] as T;
}

function outcomeFor(request: PortRequest, random: () => number): object {
  const pick = <T>(items: readonly T[]) => pickFrom(items, random);
  if (random() < 0.25) {
    const status = pick(["failed", "timed_out", "canceled", "unknown"]);
    const make = pick([failure, retryableFailure]);
    return { status, failure: make("tool_unreachable", "It did not work") };
  }
  switch (request.port) {
    case "model.generate": {
      const names = [...tools.map(({ name }) => name), "nobody"];
      const calls = Array.from({ length: Math.floor(random() * 5) }, (_, index) => ({
        callId: `c${index}`,
        name: pick(names),
        ...(random() < 0.1 ? { argumentsText: "{" } : {}),
      }));
      return { status: "ok", value: modelAnswer("text", random() < 0.3 ? [] : calls) };
    }
    case "tool.call":
      if (random() < 0.2) return { status: "ok", value: pausedCall() };
      return { status: "ok", value: toolReturn("done", random() < 0.2) };
    case "mcp.task":
      return { status: "ok", value: toolReturn("done", random() < 0.2) };
    case "command.review": {
      const verdict = pick(["allow", "prompt", "block"]);
      const risk = { allow: "low", prompt: "high", block: "critical" }[verdict];
      return { status: "ok", value: { verdict, risk, findings: [], identity: `sha256:${"2".repeat(64)}` } };
    }
    case "tool.verify":
      return { status: "ok", value: { applied: random() < 0.5 } };
    case "question.ask": {
      const decision = pick(Decision.options);
      return { status: "ok", value: { decision, by: localOperator, shown: `sha256:${"0".repeat(64)}` } };
    }
    case "catalog.seal":
      return { status: "ok", value: random() < 0.2 ? {} : { hash: `sha256:${"1".repeat(64)}`, epoch: 1 } };
    case "mcp.connect":
      return { status: "ok", value: random() < 0.1 ? {} : greeting };
    case "mcp.list":
      return { status: "ok", value: random() < 0.1 ? {} : listing };
    case "schedule.next": {
      const dueAtMs = random() < 0.1 ? null : 1_000_000 * random();
      return { status: "ok", value: random() < 0.1 ? {} : { dueAtMs, missed: 1 } };
    }
    case "mcp.close":
      return { status: "ok", value: end };
    default:
      return { status: "ok", value: null };
  }
}

function randomFrom(seed: number): () => number {
  let state = seed;
  return () => (state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) / 4_294_967_296;
}

function settleOne(twins: Twins, random: () => number): void {
  const { pending } = twins;
  const [id, request] = pending[Math.floor(random() * pending.length)] ?? [];
  if (id === undefined || request === undefined) return;
  twins.deliver("outcome", { id, attempt: 1, ...outcomeFor(request, random) });
}

const servers = [serverOf("docs"), serverOf("wiki")];
const serverSets = [[], [], servers.slice(0, 1), servers];

/** A catalog as a session is told of it: mostly the answer that it waits for, now and then with a server that failed. */
function issuedFor(twins: Twins, catalog: CatalogRef, random: () => number) {
  const renewal = random() < 0.7 ? twins.context["renewal"] : Math.floor(random() * 3);
  const report = { server: "docs", tools: 0, rejected: 0, failure: failure("mcp_connect_failed", "x") };
  return { type: "catalog.issued", catalog, renewal, servers: random() < 0.5 ? [] : [report] };
}

const offers = [["docs", "search"], ["docs", "read"], ["wiki", "search"]].map(([server = "", tool = ""]) =>
  listingOf(server, [toolOf(tool)])
);

/** Tells a catalog of servers: what to ask, or what one of them offers. */
function tellCatalog(twins: Twins, random: () => number): void {
  if (random() < 0.4) {
    const asked = pickFrom(serverSets, random).map(({ connection }) => ({ server: "docs", connection }));
    const message = { type: "catalog.renew", renewal: 1 + Math.floor(random() * 9), servers: asked };
    return twins.deliver("input", { message, sender: "session/a" });
  }
  const { connection } = pickFrom(servers, random);
  const offer = random() < 0.3 ? null : pickFrom(offers, random).offer;
  const report = { server: "docs", tools: 1, rejected: 0 };
  twins.deliver("input", { message: { type: "connection.offered", report, offer }, sender: connection });
}

/** A cancel of whatever scope. */
function cancelOf(random: () => number) {
  const scope = pickFrom(["turn", "turn", "subtree", "call", "session"] as const, random);
  // A session that was canceled as a whole lives on in silence: once in a while is enough.
  const rare = scope === "session" && random() < 0.9 ? "turn" : scope;
  return {
    type: "session.cancel",
    reason: "x",
    scope: rare,
    ...(rare === "call" ? { call: "call/0.0" } : {}),
  };
}

/** What a task tells its session: that it wants to begin, or has ended. */
function taskLetter(random: () => number) {
  const task = `tsk_${"0".repeat(25)}${Math.floor(random() * 5)}`;
  const told = { task, kind: "terminal.exec" };
  const ended = { type: "task.ended", ...told, title: "t", status: "canceled", summary: "", silent: false };
  return {
    message: random() < 0.5 ? { type: "task.opened", ...told } : ended,
    sender: `task/${task}@ses_1`,
  };
}

const declarations = [
  declarationOf(),
  declarationOf({ manifest: { args: ["--other"] } }),
  declarationOf({ gate: "prompt" }),
  declarationOf({ gate: "prompt", manifest: { args: ["--other"] } }),
  declarationOf({ gate: "denied" }),
];

const seeds = Number(Deno.env.get("SEEDS") ?? 150);

Deno.test("compiled machines live a session as interpreted ones do", () => {
  const catalog = sealCatalog(tools);
  for (let seed = 1; seed <= seeds; seed++) {
    const random = randomFrom(seed);
    const twins = new Twins("session/ses_1", "session");
    const agent = AgentDefinition.parse({ name: "a", model: "scripted/x", limits: { rounds_per_turn: 6 } });
    twins.deliver("created", {
      machine: "session",
      code: "x",
      input: {
        address: "session/ses_1",
        agent,
        home: "x",
        catalog: "catalog/ses_1",
        principal: localOperator,
        mode: pickFrom(PermissionMode.options, random),
        servers: pickFrom(serverSets, random),
      },
    });
    for (let step = 0; step < 120; step++) {
      const dice = random();
      const command = { principal: "operator:local", key: `k${step}` };
      if (dice < 0.08) twins.deliver("input", { message: { type: "session.prompt", text: "go" }, command });
      else if (dice < 0.1) {
        twins.deliver("input", { message: cancelOf(random), command });
      } else if (dice < 0.11) twins.deliver("input", taskLetter(random));
      else if (dice < 0.12) {
        twins.deliver("input", { message: { type: "session.relay", to: "session/b", text: "t" } });
      } else if (dice < 0.125) {
        const call = { tool: "greet", arguments: {} };
        twins.deliver("input", { message: { type: "session.invoke", program: "acme", call }, command });
      } else if (dice < 0.15) {
        const message = { type: "session.answered", from: "session/b", outcome: "completed", text: "t" };
        twins.deliver("input", { message, sender: "session/b" });
      } else if (dice < 0.2 || step === 0) {
        twins.deliver("input", { message: issuedFor(twins, catalog, random), sender: catalogRoot });
      } else if (dice < 0.21) {
        const { renewal } = issuedFor(twins, catalog, random);
        const message = { type: "catalog.refused", failure: failure("catalog_unavailable", "x"), renewal };
        twins.deliver("input", { message, sender: catalogRoot });
      } else if (dice < 0.23) {
        const message = { type: "session.servers", servers: pickFrom(serverSets, random) };
        twins.deliver("input", { message, command });
      } else if (dice < 0.25) twins.restore();
      else settleOne(twins, random);
    }
  }
});

Deno.test("compiled machines keep catalogs and supervise as interpreted ones do", () => {
  for (let seed = 1; seed <= seeds; seed++) {
    const random = randomFrom(seed);
    const kind = random() < 0.5 ? "catalog" : "supervisor";
    const twins = new Twins(`${kind}/x`, kind);
    const source = (names: readonly string[]) => ({
      kind: "runtime",
      provenance: { source: "runtime", origin: "built in", trust: "trusted_local" },
      adapter: "builtin",
      remote: false,
      tools: names.map((name) => toolOf(name)),
    });
    const policy = {
      strategy: (["one_for_one", "one_for_all", "rest_for_one"] as const)[Math.floor(random() * 3)],
      restartsMax: 3,
      periodMs: 60_000,
      backoffFirstMs: 200,
      backoffMsMax: 30_000,
      childDefault: { restart: "transient", comeBack: "resume", stopGraceMs: 5_000 },
    };
    const agent = AgentDefinition.parse({ name: "a", model: "scripted/x", tools: ["look"] });
    const input = kind === "supervisor" ? { address: "supervisor/x", policy } : {
      address: "catalog/x",
      coreRevision: "1",
      agent,
      policy: HostPolicy.parse({}),
      sources: [source(["look"])],
      subscriber: "session/a",
    };
    twins.deliver("created", { machine: kind, code: "x", input });
    for (let step = 0; step < 60; step++) {
      const child = `session/c${Math.floor(random() * 4)}`;
      const dice = random();
      const command = { principal: "operator:local", key: `k${step}` };
      if (dice < 0.1) twins.restore();
      else if (dice < 0.5) settleOne(twins, random);
      else if (kind === "catalog" && dice < 0.85) tellCatalog(twins, random);
      else if (kind === "catalog") {
        const names = [["look"], ["look", "peek"], ["look", "look"]][Math.floor(random() * 3)] ?? [];
        twins.deliver("input", { message: { type: "catalog.change", sources: [source(names)] }, command });
      } else if (dice < 0.65) {
        const spec = { child, ...policy.childDefault };
        twins.deliver("input", { message: { type: "child.add", child: spec }, command });
      } else if (dice < 0.7) twins.deliver("input", { message: { type: "child.remove", child }, command });
      else if (dice < 0.9) {
        const message = { type: "child.crashed", child, failure: failure("crank_failed", "x") };
        twins.deliver("input", { message });
      } else twins.deliver("input", { message: { type: "child.exited", child } });
    }
  }
});

Deno.test("compiled machines connect to servers as interpreted ones do", () => {
  for (let seed = 1; seed <= seeds; seed++) {
    const random = randomFrom(seed);
    const twins = new Twins("connection/docs@ses_1", "connection");
    const declaration = pickFrom(declarations, random);
    const input = { address: "connection/docs@ses_1", catalog: catalogRoot, declaration };
    twins.deliver("created", { machine: "connection", code: "x", input });
    for (let step = 0; step < 60; step++) {
      const dice = random();
      const command = { principal: "operator:local", key: `k${step}` };
      const from = random() < 0.5 ? { command } : { sender: catalogRoot };
      if (dice < 0.1) twins.restore();
      else if (dice < 0.25) twins.deliver("input", { message: { type: "connection.open" }, ...from });
      else if (dice < 0.35) {
        twins.deliver("input", { message: { type: "connection.close", reason: "x" }, ...from });
      } else if (dice < 0.45) {
        const message = { type: "connection.declare", declaration: pickFrom(declarations, random) };
        twins.deliver("input", { message, ...from });
      } else settleOne(twins, random);
    }
  }
});

Deno.test("compiled machines keep schedules as interpreted ones do", () => {
  for (let seed = 1; seed <= seeds; seed++) {
    const random = randomFrom(seed);
    const twins = new Twins("schedule/sch_1@ses_1", "schedule");
    const times = random() < 0.3
      ? { type: "once", dueAtMs: 5_000 }
      : { type: "cron", expression: "0 9 * * *", zone: "UTC" };
    const input = { address: twins.address, session: "session/ses_1", times, prompt: "x", madeAtMs: 1_000 };
    twins.deliver("created", { machine: "schedule", code: "x", input });
    for (let step = 0; step < 40; step++) {
      const dice = random();
      const command = { principal: "operator:local", key: `k${step}` };
      if (dice < 0.1) twins.restore();
      else if (dice < 0.4) {
        const from = pickFrom(["session/ses_1", "session/ses_2"], random);
        const message = { type: "session.answered", from, outcome: "completed", text: "Done." };
        twins.deliver("input", { message, sender: from });
      } else if (dice < 0.43) twins.deliver("input", { message: { type: "schedule.delete" }, command });
      else settleOne(twins, random);
    }
  }
});
