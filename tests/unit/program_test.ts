/** Programs of this process: what they are answered when they connect, and how their tools are called. */
import assert from "node:assert/strict";
import { AgentDefinition } from "../../schemas/agent.ts";
import { CapabilityHandshake } from "../../schemas/capability.ts";
import { HostPolicy } from "../../schemas/config.ts";
import type { Json } from "../../schemas/json.ts";
import type { ProgramRequest, ProgramResult } from "../../schemas/program.ts";
import type { ToolDefinition } from "../../schemas/tool.ts";
import type { ProgramHandler, ProgramRegistration } from "../../src/programs/program_registry.ts";
import { InvocationFold } from "../../src/records/invocation_fold.ts";
import { readRecords } from "../../src/records/session_records.ts";
import { sourceOf as sourceFor, toolOf } from "../support/desk.ts";
import { openStage, settled, type Stage } from "../support/stage.ts";

const fingerprint = `sha256:${"a".repeat(64)}`;
const otherFingerprint = `sha256:${"b".repeat(64)}`;

const runtimeTools = [toolOf("read_file", { capability: "fs.read" }), toolOf("list_files")];
const own = [
  sourceFor("troupe", [toolOf("subagent_list"), toolOf("tools_list")]),
  sourceFor("runtime", runtimeTools),
];

const agent = AgentDefinition.parse({
  name: "clerk",
  model: "scripted/s.yaml",
  tools: ["tools_list", "read_file", "subagent_list"],
  capabilities: ["tool.call:*", "fs.read"],
});

interface Sketch {
  readonly tools?: readonly ToolDefinition[];
  readonly implementations?: readonly ToolDefinition[];
  readonly handle?: ProgramHandler;
  readonly manifest?: { readonly [key: string]: Json };
  readonly identity?: { readonly [key: string]: Json };
  readonly agent?: AgentDefinition;
  readonly policy?: Json;
}

function say({ invocation_id, input }: ProgramRequest): Promise<ProgramResult> {
  return Promise.resolve({ invocation_id, status: "succeeded", output: { said: input } });
}

function registrationOf(sketch: Sketch): ProgramRegistration {
  const { tools = [toolOf("greet")], implementations = [], handle = say } = sketch;
  return {
    identity: { program: "acme", fingerprint, ...sketch.identity } as never,
    manifest: {
      fingerprint,
      protocolMethods: ["prepare_round", "read_file"],
      tools,
      implementations,
      configSchema: { type: "object" },
      ...sketch.manifest,
    } as never,
    handlers: Object.fromEntries([...tools, ...implementations].map(({ name }) => [name, handle])),
    agent: sketch.agent ?? agent,
    coreRevision: "core-1",
    policy: HostPolicy.parse(sketch.policy ?? {}),
    sources: own,
  };
}

/** Registers at a runtime without sessions. */
async function registered(sketch: Sketch = {}) {
  const stage = await openStage();
  return {
    stage,
    program: await settled(stage.world, stage.runtime.registerProgram(registrationOf(sketch))),
  };
}

async function refused(sketch: Sketch): Promise<{ readonly code: string; readonly message: string }> {
  const stage = await openStage();
  const refusal = stage.runtime.registerProgram(registrationOf(sketch)).then(
    () => assert.fail("it was not refused"),
    (error) => error,
  );
  return await settled(stage.world, refusal);
}

Deno.test("program that connects is answered both planes, the effective and the governed catalog (CM-109, CM-110)", async () => {
  const { program: { handshake } } = await registered();
  assert.deepEqual(CapabilityHandshake.parse(handshake), handshake);
  const { execution_plane: execution, program_plane: plane, effective_tool_catalog: effective } = handshake;
  assert.deepEqual(execution.capabilities, ["fs.read"]);
  assert.deepEqual(execution.tool_catalog.map(({ tool_name }) => tool_name), [
    "subagent_list",
    "tools_list",
    "read_file",
    "list_files",
  ]);
  assert.deepEqual([plane.program, plane.fingerprint, plane.config_schema], ["acme", fingerprint, {
    type: "object",
  }]);
  assert.deepEqual(plane.tool_catalog.map(({ tool_name }) => tool_name), ["greet"]);
  assert.deepEqual(
    effective.map(({ tool_name, implementation_source, implementation_ref }) =>
      [tool_name, implementation_source, implementation_ref].join(" ")
    ),
    [
      "subagent_list troupe troupe/subagent_list@1",
      "tools_list troupe troupe/tools_list@1",
      "read_file runtime runtime/read_file@1",
      "greet program program/acme/greet@1",
    ],
    "what the agent does not list is offered, but not effective",
  );
});

Deno.test("program's governed catalog adds the ids of the records and the mode, in the order of the effective one (CM-41, CM-111)", async () => {
  const reader = toolOf("subagent_list");
  const late = {
    ...registrationOf({}),
    sources: [sourceFor("runtime", runtimeTools), sourceFor("troupe", [reader])],
  };
  const stage = await openStage();
  const { handshake } = await settled(
    stage.world,
    stage.runtime.registerProgram({
      ...late,
      agent: { ...agent, tools: ["read_file", "list_files", "subagent_list"] },
    }),
  );
  const governed = handshake.governed_effective_tool_catalog;
  assert.deepEqual(governed.map(({ tool_name, governance_mode }) => [tool_name, governance_mode]), [
    ["subagent_list", "reserved"],
    ["read_file", "whitelist_only"],
    ["list_files", "whitelist_only"],
    ["greet", "replaceable"],
  ], "reserved ones first, though they were offered last; the others as they came");
  for (const { tool_definition_id: definition, tool_implementation_id: implementation } of governed) {
    assert.match(definition, /^def_/);
    assert.match(implementation, /^imp_/);
  }
  const plain = governed.map((
    { tool_definition_id: _, tool_implementation_id: __, governance_mode: ___, ...rest },
  ) => rest);
  assert.deepEqual(handshake.effective_tool_catalog, plain);
});

Deno.test("program's tools have their execution policy resolved before they are effective (CM-42)", async () => {
  const tools = [toolOf("greet", { parallelSafe: true })];
  const overlays = [{ match: { tool_name: "greet" }, execution_policy: { parallel_safe: false } }];
  const { program: { handshake } } = await registered({
    tools,
    agent: AgentDefinition.parse({ ...agent, tool_policy_overlays: overlays }),
  });
  const offered = handshake.program_plane.tool_catalog[0];
  const effective = handshake.effective_tool_catalog.find(({ tool_name }) => tool_name === "greet");
  assert.deepEqual([offered?.execution_policy, effective?.execution_policy], [{ parallel_safe: true }, {
    parallel_safe: false,
  }]);
  // What only the program says of a repeat does not count either.
  assert.deepEqual([offered?.idempotency_policy, effective?.idempotency_policy], [
    "idempotent",
    "non_idempotent",
  ]);
});

Deno.test("program is told of each tool where it comes from and what a repeat does; of a server's tool how it is reached (CM-46)", async () => {
  const stdio = { ...sourceFor("mcp", [toolOf("search")]), transport: { kind: "stdio" as const } };
  const url = "https://wiki.example/mcp";
  const remote = {
    ...sourceFor("mcp", [toolOf("find")], { server: "wiki", remote: true }),
    transport: { kind: "streamable_http" as const, url },
  };
  const stage = await openStage();
  const registration = { ...registrationOf({}), sources: [...own, stdio, remote] };
  const { handshake } = await settled(stage.world, stage.runtime.registerProgram(registration));
  const [greet, search, find] = ["greet", "mcp.docs.search", "mcp.wiki.find"].map((name) =>
    handshake.effective_tool_catalog.find(({ tool_name }) => tool_name === name)
  );
  assert.deepEqual(greet, {
    tool_name: "greet",
    tool_kind: "effect_intent",
    implementation_source: "program",
    implementation_ref: "program/acme/greet@1",
    input_schema: toolOf("greet").inputSchema,
    streaming_support: false,
    idempotency_policy: "non_idempotent",
    execution_policy: { parallel_safe: false },
  });
  const fieldsOf = (
    item: typeof search,
  ) => [item?.transport_kind, item?.server_url, item?.mcp_tool_name, item?.server_slug];
  assert.deepEqual(fieldsOf(search), ["stdio", null, "search", "docs"]);
  assert.deepEqual(fieldsOf(find), ["streamable_http", url, "find", "wiki"]);
});

// A program's tool has both: what opens the gate, and what it checks by itself.
Deno.test("program's tool passes its gate by the one capability that it needs, and is told of no other than it lists (DM-28)", async () => {
  const tools = [toolOf("greet", { capabilities: ["fs.read", "network.fetch"] })];
  const granted = ["tool.call:greet", "fs.read", "session.read"];
  const told = await called(say, { tools, granted, ...trusted });
  assert.deepEqual(told.requests[0]?.caller_context.capabilities, ["fs.read"]);
  const gated = await called(say, { tools, granted: ["fs.read", "network.fetch"], ...trusted });
  const row = await rowOf(gated);
  assert.deepEqual([row.outcome, row.attempts, gated.requests.length], ["denied", 0, 0]);
  assert.match(row.why, /needs the capability "tool\.call:greet"/);
});

Deno.test("program's methods and tools are two families of names (CM-112, CM-135)", async () => {
  const { program: { handshake } } = await registered();
  assert.deepEqual(handshake.program_plane.protocol_methods, ["prepare_round", "read_file"]);
  assert.ok(handshake.effective_tool_catalog.some(({ tool_name }) => tool_name === "read_file"));
  for (const name of ["prepare.round", "PrepareRound", "1st"]) {
    const { code, message } = await refused({ manifest: { protocolMethods: [name] } });
    assert.equal(code, "program_invalid");
    assert.match(message, /no dots/);
  }
});

Deno.test("program with a tool whose name is not lower-case letters, digits and _ is refused (CM-6, CM-135)", async () => {
  for (const name of ["Greet", "greet.all", "greet-all"]) {
    const { code, message } = await refused({ tools: [toolOf(name)] });
    assert.equal(code, "tool_name_invalid");
    assert.ok(message.includes(name), message);
  }
});

Deno.test("program with another fingerprint than the authenticated one is refused (CM-47)", async () => {
  const { code, message } = await refused({ manifest: { fingerprint: otherFingerprint } });
  assert.equal(code, "program_fingerprint_mismatch");
  assert.match(message, /bbbbbbbbbbbb.*aaaaaaaaaaaa/);
});

Deno.test("program may not take a reserved name, nor say that it is the runtime (CM-27)", async () => {
  for (const name of ["subagent_spawn", "troupe__stop"]) {
    const { code, message } = await refused({ tools: [toolOf(name)] });
    assert.equal(code, "tool_name_invalid");
    assert.ok(message.includes(`"${name}"`), message);
  }
  const claims = await refused({ manifest: { kind: "troupe" } });
  assert.equal(claims.code, "program_invalid");
  assert.match(claims.message, /kind/);
  const collision = await refused({ tools: [toolOf("read_file")] });
  assert.equal(collision.code, "tool_name_collision");
  const other = "program/acme/subagent_list@2";
  const rebound = await refused({
    tools: [],
    implementations: [toolOf("subagent_list", { version: "2" })],
    agent: AgentDefinition.parse({ ...agent, implementations: { subagent_list: other } }),
  });
  assert.equal(rebound.code, "tool_name_invalid");
});

Deno.test("program's handlers and tools must belong to each other", async () => {
  const registration = registrationOf({});
  for (
    const [handlers, said] of [
      [{}, /no handler for its tool "greet"/],
      [{ greet: say, other: say }, /handler "other" and no tool/],
    ] as const
  ) {
    const stage = await openStage();
    const refusal = stage.runtime.registerProgram({ ...registration, handlers }).then(() => "", String);
    assert.match(await settled(stage.world, refusal), said);
  }
});

Deno.test("program that connects again, or twice at once, is answered the same with the same ids (CM-39, CM-44)", async () => {
  const stage = await openStage();
  const registration = registrationOf({});
  const both = await settled(
    stage.world,
    Promise.all([stage.runtime.registerProgram(registration), stage.runtime.registerProgram(registration)]),
  );
  const again = await settled(stage.world, stage.runtime.registerProgram(registration));
  assert.deepEqual(both[0].handshake, both[1].handshake);
  assert.deepEqual(again.handshake, both[0].handshake);
  const more = await settled(
    stage.world,
    stage.runtime.registerProgram(registrationOf({ tools: [toolOf("greet"), toolOf("wave")] })),
  );
  const idsOf = ({ handshake }: typeof more) =>
    handshake.governed_effective_tool_catalog.map(({ tool_definition_id }) => tool_definition_id);
  const [before, after] = [idsOf(again), idsOf(more)];
  assert.equal(after.length, before.length + 1, "a refresh brings what is new");
  for (const id of before) assert.ok(after.includes(id), "and what was there is the same record");
});

interface Told {
  readonly stage: Stage;
  readonly session: string;
  readonly requests: readonly ProgramRequest[];
}

/** A session of an agent whose model calls `greet` once, answered by a program as told. */
async function called(
  handle: ProgramHandler,
  more: Pick<Sketch, "policy" | "identity" | "tools"> & { readonly granted?: readonly string[] } = {},
): Promise<Told> {
  const requests: ProgramRequest[] = [];
  const { granted = ["tool.call:*"], ...sketch } = more;
  const calls = [{ tool: "greet", arguments: { text: "you" } }];
  const stage = await openStage({ answers: [{ calls }, { text: "Done." }], granted });
  const registration = registrationOf({
    ...sketch,
    handle: (request, use) => {
      requests.push(request);
      return handle(request, use);
    },
  });
  const program = await settled(
    stage.world,
    stage.runtime.registerProgram({ ...registration, sources: [], agent: { ...agent, tools: [] } }),
  );
  const session = await settled(
    stage.world,
    stage.runtime.createSession({
      agent: { ...agent, tools: [], capabilities: [...granted] },
      coreRevision: "core-1",
      home: "embedded:test",
      sources: program.sources,
      policy: registration.policy,
    }),
  );
  await stage.world.settle();
  await settled(stage.world, (await settled(stage.world, stage.runtime.prompt(session, "Go"))).report);
  return { stage, session, requests };
}

async function rowOf({ stage, session }: Told) {
  const fold = new InvocationFold();
  for (const entry of await stage.entries(session as never)) fold.take(entry);
  const [row] = fold.rows;
  assert.ok(row);
  return row;
}

const trusted = { identity: { trust: "trusted_local" } };

Deno.test("program gets a call in its envelope, and what it answers is the result (CM-122, CM-123)", async () => {
  const told = await called(say, trusted);
  const [request] = told.requests;
  assert.ok(request);
  assert.deepEqual(Object.keys(request).sort(), [
    "caller_context",
    "idempotency_key",
    "input",
    "invocation_id",
    "streaming_mode",
    "timeout_ms",
    "tool_kind",
    "tool_name",
  ]);
  assert.deepEqual([request.tool_name, request.tool_kind, request.input, request.streaming_mode], [
    "greet",
    "agent_observation",
    { text: "you" },
    "none",
  ]);
  assert.deepEqual([request.caller_context.session, request.caller_context.origin], [told.session, "model"]);
  assert.ok(request.timeout_ms > 0);
  const row = await rowOf(told);
  assert.equal(row.outcome, "succeeded");
  assert.ok(JSON.stringify(row.response).includes("you"));
  const { journal } = told.stage.runtime;
  const records = await settled(
    told.stage.world,
    readRecords({
      session: told.session as never,
      pages: journal.readPages(told.session as never),
      readBlob: (digest) => journal.readBlob(digest),
      digest: told.stage.world.seams.digest,
    }),
  );
  assert.deepEqual(records.invocations.map(({ id }) => id), [request.invocation_id], "the id of its record");
  assert.equal((await told.stage.replay(told.session as never, { strict: true })).divergence, undefined);
});

Deno.test("program that says no has said no: the call is completed with its error, and is not made again (CM-123)", async () => {
  const told = await called(({ invocation_id }) =>
    Promise.resolve({
      invocation_id,
      status: "failed",
      retryable: true,
      approval_required: true,
      error: { code: "not_today", message: "Closed.", diagnostics: { opens: "tomorrow" } },
    }), trusted);
  const row = await rowOf(told);
  assert.deepEqual([row.outcome, row.attempts, told.requests.length], ["completed_with_error", 1, 1]);
  const response = JSON.stringify(row.response);
  for (const part of ["not_today", "Closed.", "approval_required", "may succeed later"]) {
    assert.ok(response.includes(part), `${part} in ${response}`);
  }
});

const nonsense: { readonly [title: string]: Json } = {
  "the result of another call": { invocation_id: "inv_other", status: "succeeded" },
  "a status of its own": { status: "applied" },
  "a field of the record": { status: "succeeded", governance_mode: "reserved" },
  "a failure without an error": { status: "failed" },
  "nothing": null,
};

for (const [title, answer] of Object.entries(nonsense)) {
  Deno.test(`program that answers with ${title} did not answer: the class of the call decides what that means (CM-123)`, async () => {
    const handle: ProgramHandler = ({ invocation_id }) =>
      Promise.resolve((answer === null ? null : { invocation_id, ...(answer as object) }) as never);
    const told = await called(handle, { policy: { effects: { greet: "idempotent" } } });
    const row = await rowOf(told);
    assert.equal(row.outcome, "failed");
    assert.equal(row.error?.["code"], "program_result_invalid");
  });
}

Deno.test("program that is gone, or was replaced since the turn was bound, is not called, and nothing is lost (CM-49)", async () => {
  for (const release of [undefined, otherFingerprint]) {
    const stage = await openStage({
      answers: [{ calls: [{ tool: "greet", arguments: {} }] }, { text: "Done." }],
    });
    const registration = { ...registrationOf({}), sources: [], agent: { ...agent, tools: [] } };
    const program = await settled(stage.world, stage.runtime.registerProgram(registration));
    const session = await settled(
      stage.world,
      stage.runtime.createSession({
        agent: registration.agent,
        coreRevision: "core-1",
        home: "embedded:test",
        sources: program.sources,
        policy: registration.policy,
      }),
    );
    await stage.world.settle();
    program.withdraw();
    if (release !== undefined) {
      const other = registrationOf({
        identity: { fingerprint: release },
        manifest: { fingerprint: release },
      });
      await settled(
        stage.world,
        stage.runtime.registerProgram({ ...other, sources: [], agent: registration.agent }),
      );
    }
    await settled(stage.world, (await settled(stage.world, stage.runtime.prompt(session, "Go"))).report);
    const row = await rowOf({ stage, session, requests: [] });
    assert.deepEqual([row.outcome, row.error?.["code"]], ["failed", "program_unavailable"]);
    assert.match(row.why, release === undefined ? /is not connected/ : /another release/);
  }
});

Deno.test("program's call is aborted by the cancel of its turn (ask 7)", async () => {
  const heard: AbortSignal[] = [];
  const handle: ProgramHandler = ({ invocation_id }, { signal }) => {
    heard.push(signal);
    return new Promise((resolve) =>
      signal.addEventListener("abort", () => resolve({ invocation_id, status: "succeeded", output: null }))
    );
  };
  const stage = await openStage({
    answers: [{ calls: [{ tool: "greet", arguments: {} }] }],
    granted: ["tool.call:*"],
  });
  const registration = { ...registrationOf({ handle }), sources: [], agent: { ...agent, tools: [] } };
  const program = await settled(stage.world, stage.runtime.registerProgram(registration));
  const session = await settled(
    stage.world,
    stage.runtime.createSession({
      agent: { ...agent, tools: [], capabilities: ["tool.call:*"] },
      coreRevision: "core-1",
      home: "embedded:test",
      sources: program.sources,
      policy: HostPolicy.parse({ tools: { greet: "auto" } }),
    }),
  );
  await stage.world.settle();
  await settled(stage.world, stage.runtime.prompt(session, "Go"));
  await stage.world.advance(20);
  assert.deepEqual(heard.map(({ aborted }) => aborted), [false]);
  await settled(stage.world, stage.runtime.send(session, { type: "session.cancel", reason: "enough" }));
  await stage.world.settle();
  assert.deepEqual(heard.map(({ aborted }) => aborted), [true]);
});
