/** Calls that a real server holds up: what it asks is asked of a person, here or there, and survives what may survive. */
import assert from "node:assert/strict";
import type { AskedOf, AskingPlan } from "../support/asking_server.ts";
import {
  type Answer,
  bodiesOf,
  callOf,
  entriesOf,
  findMarked,
  firstTurn,
  type Line,
  linesIn,
  markOf,
  nextTurn,
  onMcpStage,
  scriptManifest,
  testProcesses,
  trustAgent,
  until,
  writeMcpAgent,
} from "./mcp_stage.ts";
import { assertRefused, linesOf, type Running, type Stage } from "./troupe.ts";

const server = new URL("../support/asking_server.ts", import.meta.url).pathname;

const schema = {
  type: "object",
  properties: {
    name: { type: "string", title: "Your name", minLength: 2 },
    days: { type: "integer", minimum: 1, maximum: 30, default: 3 },
    role: {
      type: "string",
      oneOf: [{ const: "r1", title: "Reader" }, { const: "w1", title: "Writer" }],
      default: "r1",
    },
    sure: { type: "boolean" },
  },
  required: ["name"],
};

function form(message = "Who travels?", requestedSchema: Line = schema): AskedOf {
  return { method: "elicitation/create", params: { message, requestedSchema } };
}

const easyForm = form("All has defaults", {
  type: "object",
  properties: { days: { type: "integer", default: 3 }, note: { type: "string" } },
});

interface Sketch extends Partial<AskingPlan> {
  readonly tool?: "ask" | "rounds";
  /** What the model must be told of the call. */
  readonly expect?: string;
  readonly manifest?: Line;
  readonly more?: readonly Answer[];
}

/** One call of a server that asks, trusted. */
async function writeAsking(
  stage: Stage,
  { tool = "ask", expect, manifest, more = [], ...plan }: Sketch,
): Promise<void> {
  await stage.write({ plan: JSON.stringify({ ledger: stage.path("ledger"), ...plan }) });
  const finished = { text: "finished", ...(expect === undefined ? {} : { expect }) };
  await writeMcpAgent(stage, {
    servers: { docs: scriptManifest(server, [stage.path("plan"), markOf(stage)], manifest) },
    answers: [{ calls: [callOf(`docs__${tool}`, { given: 1 })] }, finished, ...more],
  });
  await stage.output(...trustAgent);
}

/** What the server was told: the answers to its own requests. */
async function answersTo(stage: Stage): Promise<unknown[]> {
  return (await linesIn(stage.path("ledger"))).filter(({ method }) => method === undefined)
    .map(({ result, error }) => result ?? error);
}

async function callsOf(stage: Stage): Promise<Line[]> {
  return (await linesIn(stage.path("ledger"))).filter(({ method }) => method === "tools/call")
    .map(({ params }) => params as Line);
}

/** Runs a turn whose questions are answered elsewhere, until one is open. */
async function startWaiting(stage: Stage, ...turn: readonly string[]): Promise<Running> {
  const owner = stage.start(...turn, "--answer", "wait");
  await owner.until("A question waits");
  return owner;
}

async function openQuestion(stage: Stage): Promise<Line> {
  const [question] = linesOf(await stage.output("questions", "--json"));
  assert.ok(question, "no question is open");
  return question;
}

async function assertReplays(stage: Stage): Promise<void> {
  const replayed = await stage.output("replay", "last", "--strict");
  assert.match(replayed, /no divergence/);
  assert.doesNotMatch(replayed, /DIVERGED|diverges/i);
}

Deno.test("form of a server is shown with who asks, filled in by field elsewhere, refused where it does not fit, and sent complete (CM-34)", async () => {
  await onMcpStage(async (stage) => {
    await writeAsking(stage, { asks: [[form("Who \u202etravels?")]], expect: '"name":"Ada"' });
    const owner = await startWaiting(stage, ...firstTurn);
    const { id } = await openQuestion(stage);
    const shown = await stage.output("questions");
    for (
      const line of [
        /server {5}docs/,
        /says {7}Who \\u\{202e\}travels\?/,
        /field {6}name \(text, required\) Your name/,
        /field {6}days \(whole number from 1 to 30, default 3\)/,
        /field {6}role \(one of r1 = Reader \| w1 = Writer, default r1\)/,
        /field {6}sure \(true or false, may be left out\)/,
        /decisions {2}accept, decline, cancel/,
      ]
    ) assert.match(shown, line);
    const wrong: readonly (readonly [values: readonly string[], why: RegExp])[] = [
      [[], /"name" is required/],
      [["name=A"], /"name" must have at least 2 characters/],
      [["name=Ada", "days=31"], /"days" must be at most 30/],
      [["name=Ada", "days=soon"], /"days" must be a number/],
      [["name=Ada", "role=admin"], /"role" must be one of r1, w1/],
      [["name=Ada", "nick=A"], /there is no field "nick"/],
      [['{"name": 7}'], /"name" must be a text/],
    ];
    for (const [values, why] of wrong) {
      const refused = await stage.run("answer", String(id), "accept", ...values);
      assert.match(refused.err, why);
      assert.match(refused.err, /\[form_invalid\]/);
    }
    const secret = await stage.run(
      "answer",
      String(id),
      "accept",
      "name=ghp_x9K2mQ7vL4pR8sT1wY6zB3nD5fG0hJcEaUiO",
    );
    assert.match(secret.err, /"name" looks like a secret.*\[form_secret\]/s);
    assert.match((await stage.run("answer", String(id), "allow")).err, /\[decision_not_offered\]/);
    await stage.output("answer", String(id), "accept", "name=Ada", "role=w1", "sure=yes");
    const ended = await owner.ended;
    assert.match(ended.out, /finished\nturn 1 completed/, `${ended.out}\n${ended.err}`);
    const content = { name: "Ada", days: 3, role: "w1", sure: true };
    assert.deepEqual(await answersTo(stage), [{ action: "accept", content }]);
    assert.equal((await callsOf(stage)).length, 1);
    const log = await stage.output("log", "last");
    assert.match(log, /server\.answered .*docs round 1: accept/);
    assert.match(await stage.output("invocations", "last"), /mcp\.docs\.ask/);
    await assertReplays(stage);
  });
});

Deno.test("form of a server is declined, or sent with its defaults, as --answer orders; what must be typed is declined (CM-34)", async () => {
  const cases: readonly (readonly [answer: string, ask: AskedOf, told: unknown])[] = [
    ["allow", easyForm, { action: "accept", content: { days: 3 } }],
    ["deny", easyForm, { action: "decline" }],
    ["allow", form(), { action: "decline" }],
    ["allow", {
      method: "elicitation/create",
      params: { mode: "url", message: "m", url: "https://example.org/", elicitationId: "e" },
    }, { action: "decline" }],
  ];
  for (const [answer, ask, told] of cases) {
    await onMcpStage(async (stage) => {
      await writeAsking(stage, { asks: [[ask]] });
      const ended = await stage.run(...firstTurn, "--answer", answer);
      assert.match(ended.out, /turn 1 completed/, `${ended.out}\n${ended.err}`);
      assert.deepEqual(await answersTo(stage), [told]);
    });
  }
});

Deno.test("server whose question nobody can answer is told so at once, and so are the person and the model (CM-34)", async () => {
  await onMcpStage(async (stage) => {
    await writeAsking(stage, { asks: [[form()]], expect: "nobody is there to be asked" });
    const ended = await stage.run(...firstTurn);
    assert.match(ended.out, /turn 1 completed/, `${ended.out}\n${ended.err}`);
    assert.match(ended.err, /A server asked: .*docs round 1: cancel \(unavailable\)/);
    assert.deepEqual(await answersTo(stage), [{ action: "cancel" }]);
    await assertReplays(stage);
  });
});

Deno.test("server is not given a secret by a form, nothing without a call of ours, and no more than four answers at once (CM-34)", async () => {
  await onMcpStage(async (stage) => {
    const secret = form("Log in", {
      type: "object",
      properties: { user: { type: "string" }, "API key": { type: "string" } },
    });
    await writeAsking(stage, {
      early: [easyForm, { method: "sampling/createMessage", params: {} }, { method: "roots/list" }],
      asks: [[secret], [easyForm, easyForm, easyForm, easyForm, easyForm, easyForm]],
      expect: "asks for a secret",
    });
    const ended = await stage.run(...firstTurn, "--answer", "allow");
    assert.match(ended.out, /turn 1 completed/, `${ended.out}\n${ended.err}`);
    const [early, sampling, roots, first, ...flood] = await answersTo(stage) as Line[];
    assert.deepEqual(early, { action: "decline" });
    assert.deepEqual([sampling?.["code"], roots?.["code"]], [-32601, -32601]);
    assert.deepEqual(first, { action: "decline" });
    const accepted = { action: "accept", content: { days: 3 } };
    assert.equal(flood.filter((one) => one["action"] === "decline").length, 2);
    assert.deepEqual(flood.filter((one) => one["action"] === "accept"), [
      accepted,
      accepted,
      accepted,
      accepted,
    ]);
  });
});

Deno.test("policy of the host answers for people, or offers nothing: mcp.elicit:<server> (CM-34)", async () => {
  for (
    const [rule, declared, told] of [
      ["auto", true, { action: "accept", content: { days: 3 } }],
      ["deny", false, undefined],
    ] as const
  ) {
    await onMcpStage(async (stage) => {
      await stage.write({
        "config/troupe/troupe.yaml": JSON.stringify({
          policy: { capabilities: { "mcp.elicit:docs": rule } },
        }),
      });
      await writeAsking(stage, { asks: [[easyForm]] });
      const ended = await stage.run(...firstTurn);
      assert.match(ended.out, /turn 1 completed/, `${ended.out}\n${ended.err}`);
      const [greeted] = await linesIn(stage.path("ledger"));
      const capabilities = (greeted?.["params"] as Line)["capabilities"] as Line;
      assert.deepEqual(
        capabilities,
        declared ? { elicitation: { form: { applyDefaults: true }, url: {} } } : {},
      );
      const [answer] = await answersTo(stage) as Line[];
      if (told === undefined) assert.equal(answer?.["code"], -32601);
      else assert.deepEqual(answer, told);
    });
  }
});

Deno.test("server is told where its agent works if its manifest says so, and no other (CM-34)", async () => {
  await onMcpStage(async (stage) => {
    await writeAsking(stage, { asks: [[{ method: "roots/list" }]], manifest: { roots: true } });
    const ended = await stage.run(...firstTurn);
    assert.match(ended.out, /turn 1 completed/, `${ended.out}\n${ended.err}`);
    assert.deepEqual(await answersTo(stage), [{
      roots: [{ uri: `file://${stage.path("ws")}`, name: "ws" }],
    }]);
  });
});

const sampleAsk: AskedOf = {
  method: "sampling/createMessage",
  params: {
    messages: [
      { role: "user", content: { type: "text", text: "one" } },
      // A script's answers are counted by what the model said before: this is its third.
      { role: "assistant", content: { type: "text", text: "two" } },
      { role: "assistant", content: [{ type: "text", text: "three" }] },
      { role: "user", content: { type: "text", text: "Sum it up\u202e" } },
    ],
    systemPrompt: "Be brief",
    includeContext: "allServers",
    maxTokens: 1_000,
  },
};
/** A script answers this one with its first answer, which calls a tool. */
const callAsk: AskedOf = {
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text: "Sum it up" } }], maxTokens: 10 },
};
const summed = { text: "In short.", expect: "Sum it up" };

Deno.test("server has the agent's model answer it if its manifest says so, a person lets it, and as often as it may (CM-34)", async () => {
  await onMcpStage(async (stage) => {
    await writeAsking(stage, {
      asks: [[sampleAsk], [callAsk], [sampleAsk], [{
        ...sampleAsk,
        params: { messages: [{ role: "user", content: { type: "image" } }] },
      }]],
      manifest: { sampling: { max_requests: 2, max_tokens: 50 } },
      expect: "as often as its manifest allows",
      more: [summed],
    });
    const owner = await startWaiting(stage, ...firstTurn);
    const shown = await stage.output("questions");
    assert.match(shown, /A server wants the agent's model to answer it/);
    assert.match(shown, /texts {6}system: Be brief\\nuser: one\\n/);
    const { id } = await openQuestion(stage);
    await stage.output("answer", String(id), "allow");
    let next: Line | undefined;
    await until("the second question", async () => {
      const open = linesOf(await stage.output("questions", "--json"));
      next = open.find((one) => one["id"] !== id);
      return next !== undefined;
    });
    await stage.output("answer", String(next?.["id"]), "allow");
    const ended = await owner.ended;
    assert.match(ended.out, /turn 1 completed/, `${ended.out}\n${ended.err}`);
    const [first, second, third, fourth] = await answersTo(stage) as Line[];
    const content = { type: "text", text: "In short." };
    assert.deepEqual(first, {
      role: "assistant",
      content,
      model: "scripted/script.yaml",
      stopReason: "endTurn",
    });
    assert.deepEqual([second, third, fourth].map((one) => one?.["code"]), [-1, -1, -1]);
    assert.match(ended.err, /docs round 2: decline \(model_answer_invalid\)/);
    assert.match(ended.err, /docs round 3: decline \(exhausted\)/);
    const [sampled] = bodiesOf(await entriesOf(stage, "last"), "intent", "model.sample");
    const args = sampled?.["args"] as Line;
    assert.equal(args["maxOutputTokens"], 50);
    assert.deepEqual((args["messages"] as Line[]).map(({ text }) => text), [
      "one",
      "two",
      "three",
      "Sum it up",
    ]);
    await assertReplays(stage);
  });
  await onMcpStage(async (stage) => {
    await writeAsking(stage, {
      asks: [[sampleAsk]],
      manifest: { sampling: { max_requests: 1, max_tokens: 50 } },
      more: [summed],
    });
    const ended = await stage.run(...firstTurn, "--answer", "deny");
    assert.match(ended.out, /turn 1 completed/, `${ended.out}\n${ended.err}`);
    assert.deepEqual((await answersTo(stage) as Line[]).map(({ code }) => code), [-1]);
    assert.equal(bodiesOf(await entriesOf(stage, "last"), "intent", "model.sample").length, 0);
  });
});

const state = `{"v":1,"zebra":"\\u00e9 + / = \t\u{1f511}"}`;
const page = {
  mode: "url",
  message: "Log in first",
  url: "https://bücher.example/login",
  elicitationId: "e1",
};

function wants(more: Line = {}) {
  return { resultType: "input_required", inputRequests: { who: form() }, requestState: state, ...more };
}

const result = { resultType: "complete", content: [{ type: "text", text: "booked" }] };

Deno.test("result that wants input first is a round of the same call: the answers go back, and the state byte for byte (CM-34)", async () => {
  await onMcpStage(async (stage) => {
    const results = [wants(), { resultType: "input_required", requestState: "zebra 2" }, result];
    await writeAsking(stage, { tool: "rounds", results, expect: "booked" });
    const owner = await startWaiting(stage, ...firstTurn);
    await stage.output(
      "answer",
      String((await openQuestion(stage))["id"]),
      "accept",
      '{"name": "Ada", "days": 2}',
    );
    const ended = await owner.ended;
    assert.match(ended.out, /finished\nturn 1 completed: 2 steps, 1 call/, `${ended.out}\n${ended.err}`);
    const [first, second, third, ...rest] = await callsOf(stage);
    const inputResponses = { who: { action: "accept", content: { name: "Ada", days: 2, role: "r1" } } };
    const { _meta: meta, ...call } = first ?? {};
    assert.deepEqual(call, { name: "rounds", arguments: { given: 1 } });
    assert.deepEqual(second, { ...call, inputResponses, requestState: state, _meta: second?.["_meta"] });
    assert.deepEqual(third, { ...call, requestState: "zebra 2", _meta: third?.["_meta"] });
    assert.equal(rest.length, 0);
    const keyOf = (sent: unknown) => (sent as Line)["troupe/idempotency-key"];
    assert.equal(keyOf(second?.["_meta"]), keyOf(meta));
    // Nobody is shown the state: not in the log, not in a result, not in the entries.
    for (const args of [["log", "last"], ["log", "last", "--json"], ["invocations", "last", "--json"]]) {
      const shown = await stage.output(...args);
      assert.ok(!shown.includes("zebra"), args.join(" "));
    }
    await assertReplays(stage);
  });
});

Deno.test("server that wants something first for ever is given up after five rounds; what cannot be kept or given ends the call (CM-34, B98)", async () => {
  const easy = wants({ inputRequests: { a: easyForm } });
  const cases: readonly (readonly [results: readonly Line[], code: RegExp, calls: number])[] = [
    [[easy], /mcp_rounds_exceeded: .*5 times/, 6],
    [[{ ...easy, requestState: "x".repeat(65_537) }], /mcp_input_invalid: .*65537 bytes/, 1],
    [[wants({ inputRequests: { a: { method: "roots/list" } } })], /mcp_input_invalid: .*roots\/list/, 1],
    [[{ resultType: "input_required" }], /mcp_input_invalid: .*neither/, 1],
  ];
  for (const [results, code, calls] of cases) {
    await onMcpStage(async (stage) => {
      await writeAsking(stage, { tool: "rounds", results });
      const ended = await stage.run(...firstTurn, "--answer", "allow");
      assert.match(ended.out, code, `${ended.out}\n${ended.err}`);
      assert.match(ended.out, /completed_with_error/);
      assert.equal((await callsOf(stage)).length, calls);
    });
  }
});

Deno.test("call that is made only after a page was opened shows the page, and is made once more after a person has opened it (CM-34)", async () => {
  for (const decision of ["accept", "decline"]) {
    await onMcpStage(async (stage) => {
      const error = { code: -32042, message: "Log in first", data: { elicitations: [page] } };
      await writeAsking(stage, { tool: "rounds", results: [{ error }, result] });
      const owner = await startWaiting(stage, ...firstTurn);
      const shown = await stage.output("questions");
      assert.match(shown, /open {7}https:\/\/xn--bcher-kva\.example\/login \(troupe does not open it/);
      await stage.output("answer", String((await openQuestion(stage))["id"]), decision);
      const ended = await owner.ended;
      const isOpened = decision === "accept";
      assert.match(ended.out, isOpened ? /booked/ : /mcp_input_refused/, `${ended.out}\n${ended.err}`);
      assert.equal((await callsOf(stage)).length, isOpened ? 2 : 1);
    });
  }
});

testProcesses(
  "question of a server whose runtime was killed: what the server keeps goes on, what was held open is not repeated (CM-34)",
  async (stage) => {
    await writeAsking(stage, { tool: "rounds", results: [wants(), result], expect: "booked" });
    const owner = await startWaiting(stage, ...firstTurn);
    owner.signal("SIGKILL");
    await owner.ended.catch(() => {});
    await until("the servers are gone", () => findMarked(markOf(stage)).length === 0);
    // The turn goes on in whatever process opens the store next: a new prompt waits for it.
    const next = await startWaiting(stage, ...nextTurn);
    await stage.output("answer", String((await openQuestion(stage))["id"]), "accept", "name=Ada");
    await next.until("booked");
    const [, second] = await callsOf(stage);
    assert.equal(second?.["requestState"], state);
    next.signal("SIGINT");
    await next.ended;
  },
);

testProcesses(
  "call that a server held open is unknown once its runtime was killed, and its question is over (CM-34)",
  async (stage) => {
    await writeAsking(stage, { asks: [[form()]], more: [{ text: "again" }] });
    const owner = await startWaiting(stage, ...firstTurn);
    const { id } = await openQuestion(stage);
    owner.signal("SIGKILL");
    await owner.ended.catch(() => {});
    const next = stage.start(...nextTurn, "--answer", "wait");
    await until("an operator is asked", async () => {
      const { out } = await stage.run("questions", "--json");
      return linesOf(out).some(({ subject }) => (subject as Line)["kind"] === "uncertain");
    });
    assert.equal((await callsOf(stage)).length, 1);
    assertRefused(await stage.run("answer", String(id), "accept", "name=Ada"), 1, "approval_stale");
    next.signal("SIGINT");
    await next.ended;
    assert.equal((await callsOf(stage)).length, 1);
    const outcomes = bodiesOf(await entriesOf(stage, "last"), "outcome", "mcp.call");
    assert.deepEqual(outcomes.map(({ status }) => status), ["ok", "unknown"]);
  },
);

Deno.test("server is told that a call is canceled while it asks: its question is withdrawn (CM-34)", async () => {
  await onMcpStage(async (stage) => {
    await writeAsking(stage, { asks: [[form()]] });
    const owner = await startWaiting(stage, ...firstTurn);
    owner.signal("SIGINT");
    const ended = await owner.ended;
    assert.match(ended.out, /turn 1 canceled/, `${ended.out}\n${ended.err}`);
    assert.deepEqual(await answersTo(stage), [{ action: "cancel" }]);
    await assertReplays(stage);
  });
});
