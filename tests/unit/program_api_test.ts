/** Programs that bring tools by the API: handshake, calls, reports, and what becomes of both when they go. */
import assert from "node:assert/strict";
import { CapabilityHandshake } from "../../schemas/capability.ts";
import { programLimits } from "../../schemas/program_limits.ts";
import { ActorApiError } from "../../src/client.ts";
import { peekText } from "../../src/peek.ts";
import { InvocationFold } from "../../src/records/invocation_fold.ts";
import { type ApiStage, openApiStage, someProgram } from "../support/api_stage.ts";
import type { MemoryDisk } from "../support/memory_store.ts";
import { manifestOf, release, serveProgram } from "../support/served_program.ts";

const granted = { capabilities: ["tool.call:*"], granted: ["tool.call:*"] };
const greeting = { calls: [{ tool: "greet", arguments: { name: "Ann" } }] };
const oneCall = { ...granted, answers: [greeting, { text: "Done." }] };
const otherRelease = `sha256:${"b".repeat(64)}`;

/** The code of a refusal, and its words. */
async function refused(stage: ApiStage, promise: Promise<unknown>): Promise<ActorApiError> {
  const error = await stage.run(promise.then(() => undefined, (error) => error));
  assert.ok(error instanceof ActorApiError, `no refusal, but ${error}`);
  return error;
}

/** Waits for what is answered once the disk has it, though nothing hurries. */
async function overTime<T>(stage: ApiStage, promise: Promise<T>): Promise<T> {
  await stage.world.advance(1_000);
  return await stage.run(promise);
}

async function rowsOf(stage: ApiStage, session: string) {
  const fold = new InvocationFold();
  for (const entry of await stage.entries(session as never)) fold.take(entry);
  return fold.rows;
}

/** Begins a session and lets its model call the program. */
async function begin(stage: ApiStage, wait = 0): Promise<string> {
  const { address } = await stage.run(stage.client().spawn({ agent: "tester", prompt: "Go" }));
  await stage.world.advance(wait);
  await stage.world.settle();
  return address;
}

Deno.test("program that registers by the API is answered both planes and the governed catalog; a refresh the same (CM-109, CM-110, CM-111)", async () => {
  const stage = await openApiStage({ ...granted, tools_of_agent: ["read_file"] });
  const { handshake, client } = await serveProgram(stage, manifestOf({}, { protocol_methods: ["greet"] }));
  const { registration, lease_ms: lease, ...planes } = handshake;
  assert.deepEqual(CapabilityHandshake.parse(planes), planes);
  assert.equal(lease, 10_000);
  assert.deepEqual(Object.keys(planes).sort(), [
    "effective_tool_catalog",
    "execution_plane",
    "governed_effective_tool_catalog",
    "program_plane",
  ]);
  const { program_plane: plane, governed_effective_tool_catalog: governed } = planes;
  assert.deepEqual([plane.program, plane.fingerprint, plane.protocol_methods], ["acme", release, ["greet"]]);
  assert.deepEqual(planes.effective_tool_catalog.map(({ tool_name }) => tool_name), ["read_file", "greet"]);
  assert.ok(planes.execution_plane.capabilities.includes("fs.read"));
  for (const { tool_definition_id: definition, tool_implementation_id: implementation } of governed) {
    assert.match(`${definition} ${implementation}`, /^def_\S+ imp_\S+$/);
  }
  assert.deepEqual(governed.map(({ governance_mode: mode }) => mode), ["whitelist_only", "replaceable"]);
  assert.deepEqual(await stage.run(client.program_refresh({ program: "acme" })), handshake);
  const more = manifestOf({}, {
    registration,
    tools: [...manifestOf().tools, { ...manifestOf().tools[0]!, name: "wave" }],
  });
  const again = await stage.run(client.program_register(more));
  assert.equal(again.registration, registration);
  assert.deepEqual(again.program_plane.tool_catalog.map(({ tool_name }) => tool_name), ["greet", "wave"]);
});

Deno.test("program with another fingerprint than the host's configuration says is refused, and the one that is there stays (CM-47)", async () => {
  const programs = { acme: { fingerprint: release, trust: "trusted_local" } };
  const stage = await openApiStage({ ...oneCall, config: { programs } });
  const program = await serveProgram(stage);
  const other = manifestOf({}, { fingerprint: otherRelease });
  const { code, message } = await refused(stage, program.client.program_register(other));
  assert.equal(code, "program_fingerprint_mismatch");
  assert.match(message, /bbbbbbbbbbbb.*aaaaaaaaaaaa/);
  await begin(stage);
  assert.equal(program.calls().length, 1);
});

Deno.test("program gets a call by its stream and its report is the result; replay needs no program (CM-33, CM-122)", async () => {
  const stage = await openApiStage(oneCall);
  const program = await serveProgram(stage);
  const session = await begin(stage);
  const [call] = program.calls();
  assert.ok(call);
  assert.deepEqual([call.request.tool_name, call.request.input], ["greet", { name: "Ann" }]);
  assert.equal(call.request.caller_context.session, session);
  const ending = stage.run(stage.client().ask({ address: session, text: "More" }, { key: "more" }));
  assert.deepEqual(
    await stage.run(program.report("m0", { call_id: call.call_id, progress: "half" })),
    {
      call_id: call.call_id,
      state: "noted",
    },
  );
  await stage.run(program.done(call, "m1", "hello Ann"));
  await ending;
  const [row] = await rowsOf(stage, session);
  assert.deepEqual([row?.outcome, row?.attempts], ["succeeded", 1]);
  assert.ok(JSON.stringify(row?.response).includes("hello Ann"));
  program.leave();
  await stage.world.advance(programLimits.leaseGraceMs);
  assert.equal((await stage.replay(session as never, { strict: true })).divergence, undefined);
});

Deno.test("program's call has five minutes, or what its arguments ask for and 30 s more; then the mailbox gives up (CM-37)", async () => {
  const calls = (input: unknown) => ({ calls: [{ tool: "greet", arguments: input }] });
  for (
    const [input, ms] of [
      [{}, 300_000],
      [{ timeout_seconds: 60 }, 300_000],
      [{ timeout_seconds: 400 }, 430_000],
      [{ timeout_ms: 280_000 }, 310_000],
      [{ timeout_seconds: 4_000 }, 600_000],
    ] as const
  ) {
    const answers = [calls(input), { text: "Done." }];
    const stage = await openApiStage({ ...granted, answers });
    const program = await serveProgram(stage);
    const session = await begin(stage);
    const [call] = program.calls();
    assert.ok(call);
    assert.equal(call.request.timeout_ms, ms);
    assert.equal(call.lease_until - call.deadline_at, 10_000);
    await stage.world.advance(ms - 1);
    assert.equal(program.heard.length, 1);
    await stage.world.advance(1);
    assert.deepEqual(program.heard.slice(1).map(({ type }) => type), ["cancel"]);
    assert.equal((await rowsOf(stage, session))[0]?.outcome, "running");
    await stage.world.advance(programLimits.leaseGraceMs);
    await stage.world.settle();
    const entries = JSON.stringify(await stage.entries(session as never));
    assert.match(entries, /"code":"mailbox_timeout"/);
    assert.match(entries, /"retryable":true/);
    // It may have happened, so a person must say what became of it.
    assert.match(entries, /"uncertain"/);
  }
});

Deno.test("program's result that comes after the deadline, within the lease's grace, still counts (CM-37)", async () => {
  const stage = await openApiStage(oneCall);
  const program = await serveProgram(stage);
  const session = await begin(stage);
  const [call] = program.calls();
  assert.ok(call);
  await stage.world.advance(300_000 + programLimits.leaseGraceMs - 1);
  await stage.run(program.done(call, "m1"));
  await stage.world.settle();
  assert.equal((await rowsOf(stage, session))[0]?.outcome, "succeeded");
});

Deno.test("program's call without an answer in time is made again if the operator calls the tool idempotent (CM-37)", async () => {
  const config = { policy: { effects: { greet: "idempotent" } } };
  const stage = await openApiStage({ ...oneCall, config });
  const program = await serveProgram(stage);
  const session = await begin(stage);
  await stage.world.advance(300_000 + programLimits.leaseGraceMs + 30_000);
  await stage.world.settle();
  const [first, second] = program.calls();
  assert.ok(first && second, "it is called again");
  assert.equal(first.request.invocation_id, second.request.invocation_id);
  assert.equal(first.call_id, second.call_id);
  assert.equal(first.request.idempotency_key, second.request.idempotency_key);
  await stage.run(program.done(second, "m2"));
  await stage.world.settle();
  assert.equal((await rowsOf(stage, session))[0]?.outcome, "succeeded");
});

Deno.test("report of the same message id is the same report, and a stale one is refused and changes nothing (CM-121)", async () => {
  const stage = await openApiStage(oneCall);
  const program = await serveProgram(stage);
  const session = await begin(stage);
  const [call] = program.calls();
  assert.ok(call);
  const twice = await stage.run(Promise.all([program.done(call, "m1"), program.done(call, "m1")]));
  assert.deepEqual(twice[0], twice[1]);
  await stage.world.settle();
  const before = await stage.entries(session as never);
  assert.deepEqual(await stage.run(program.done(call, "m1")), twice[0]);
  assert.equal((await refused(stage, program.done(call, "m1", "another"))).code, "message_id_reuse");
  const stale = await refused(stage, program.done(call, "m2", "another"));
  assert.deepEqual([stale.code, stale.outcome, stale.retryable], ["report_stale", "not_applied", false]);
  assert.deepEqual(await stage.entries(session as never), before);
  // The next runtime knows it too.
  stage.crash();
  const next = await openApiStage({ ...granted, disk: stage.disk, world: stage.world });
  const back = await serveProgram(next, manifestOf({}, { registration: program.handshake.registration }));
  assert.deepEqual(await next.run(back.done(call, "m1")), twice[0]);
  assert.equal((await refused(next, back.done(call, "m3"))).code, "report_stale");
});

Deno.test("report of a success is answered only once the outcome is durable, and a call is handed out only once it is (CM-124)", async () => {
  const stage = await openApiStage(oneCall);
  const program = await serveProgram(stage);
  program.leave();
  await stage.world.settle();
  // What the disk has at the moment at which the program hears something.
  const moments: MemoryDisk[] = [];
  const { registration } = program.handshake;
  void (async () => {
    for await (const event of program.client.program_calls({ program: "acme", registration })) {
      program.heard.push(event);
      moments.push(stage.disk.copy());
    }
  })();
  const session = await begin(stage);
  const [call] = program.calls();
  assert.ok(call);
  await overTime(
    stage,
    program.done(call, "m1").then(() => moments.push(stage.disk.copy())),
  );
  const kinds: string[][] = [];
  for (const disk of moments) {
    const past = await openApiStage({ disk, world: stage.world });
    const calls = (await past.entries(session as never)).filter(({ type }) => type === "tool.call");
    kinds.push(calls.map(({ kind, body }) => `${kind} ${peekText(body, "status")}`.trim()));
    past.crash();
  }
  // A runtime that opens the first disk finds the call begun, and nobody knows its end.
  assert.equal(kinds[0]?.[0], "intent", "handed out before it was durable");
  assert.deepEqual(kinds[1], ["intent", "outcome ok"], "answered before it was durable");
});

Deno.test("report for a call that a person has not allowed yet finds nothing that waits (CM-121, CM-124)", async () => {
  const stage = await openApiStage({ ...oneCall, config: { policy: { tools: { greet: "prompt" } } } });
  const program = await serveProgram(stage);
  await begin(stage);
  assert.equal(program.calls().length, 0);
  const guess = await refused(
    stage,
    program.report("m1", {
      call_id: "inv_guess",
      result: { invocation_id: "inv_guess", status: "succeeded" },
    }),
  );
  assert.equal(guess.code, "report_stale");
});

Deno.test("program whose stream breaks keeps its calls if it is back within its lease, and gets none twice (CM-33)", async () => {
  const stage = await openApiStage(oneCall);
  const program = await serveProgram(stage);
  const session = await begin(stage);
  program.leave();
  await stage.world.advance(programLimits.leaseGraceMs - 1);
  program.listen();
  await stage.world.advance(programLimits.leaseGraceMs);
  assert.equal(program.calls().length, 1);
  const [call] = program.calls();
  assert.ok(call);
  await stage.run(program.done(call, "m1"));
  await stage.world.settle();
  assert.equal((await rowsOf(stage, session))[0]?.outcome, "succeeded");
});

Deno.test("program that vanishes makes its calls unknown, or tried again if that harms nobody (CM-33)", async () => {
  for (const effect of ["non_idempotent", "idempotent"] as const) {
    const config = { policy: { effects: { greet: effect } } };
    const stage = await openApiStage({ ...oneCall, config });
    const program = await serveProgram(stage);
    const session = await begin(stage);
    program.leave();
    await stage.world.advance(programLimits.leaseGraceMs);
    await stage.world.advance(1_000);
    const entries = JSON.stringify(await stage.entries(session as never));
    assert.match(entries, /"code":"program_lost"/);
    assert.equal(entries.includes('"uncertain"'), effect === "non_idempotent");
    assert.equal(entries.includes('"invocation.retried"'), effect === "idempotent");
  }
});

Deno.test("program's tools leave the next catalog when it goes, and return with it; a turn that runs keeps what it has (DM-132)", async () => {
  const say = { text: "Nothing." };
  const stage = await openApiStage({ ...granted, answers: [greeting, say, say, say] });
  const toolsIn = async (session: string) =>
    (await stage.entries(session as never)).filter(({ type }) => type === "tools.bound")
      .map(({ body }) => (body as { readonly tools: number }).tools);
  const program = await serveProgram(stage);
  const session = await begin(stage);
  const ask = async (text: string) => {
    await stage.run(stage.client().ask({ address: session, text }));
  };
  // Another tool comes while a turn runs; its catalog was frozen at its start.
  const [tool] = manifestOf().tools;
  assert.ok(tool);
  const { registration } = program.handshake;
  const more = manifestOf({}, { registration, tools: [tool, { ...tool, name: "wave" }] });
  await stage.run(program.client.program_register(more));
  const [call] = program.calls();
  assert.ok(call);
  await stage.run(program.done(call, "m1"));
  await stage.world.settle();
  assert.deepEqual(await toolsIn(session), [1]);
  await ask("Again");
  assert.deepEqual(await toolsIn(session), [1, 2]);
  program.leave();
  await stage.world.advance(programLimits.leaseGraceMs);
  await stage.world.settle();
  await ask("Alone");
  assert.deepEqual(await toolsIn(session), [1, 2, 0]);
  await serveProgram(stage);
  await stage.world.settle();
  await ask("Together");
  assert.deepEqual(await toolsIn(session), [1, 2, 0, 1]);
});

Deno.test("program that comes back after a crash of the runtime gets idempotent calls again; the others are unknown (CM-33)", async () => {
  for (const effect of ["non_idempotent", "idempotent"] as const) {
    const options = { ...oneCall, config: { policy: { effects: { greet: effect } } } };
    const stage = await openApiStage(options);
    const program = await serveProgram(stage);
    const session = await begin(stage);
    assert.equal(program.calls().length, 1);
    stage.crash();
    const next = await openApiStage({
      ...options,
      answers: [{ text: "Done." }],
      disk: stage.disk,
      world: stage.world,
    });
    await next.world.advance(1_000);
    const back = await serveProgram(next, manifestOf({}, { registration: program.handshake.registration }));
    assert.equal(back.handshake.registration, program.handshake.registration);
    await next.world.settle();
    const calls = back.calls();
    assert.equal(calls.length, effect === "idempotent" ? 1 : 0);
    const [call] = calls;
    if (call !== undefined) {
      assert.ok(call.seq > (program.calls()[0]?.seq ?? 0), "a place behind the last one");
      await next.run(back.done(call, "m1"));
      await next.world.settle();
      assert.equal((await rowsOf(next, session))[0]?.outcome, "succeeded");
    } else {
      assert.match(JSON.stringify(await next.entries(session as never)), /"uncertain"/);
    }
  }
});

Deno.test("program that does not come back after a crash of the runtime leaves the catalogs once its lease is over", async () => {
  const stage = await openApiStage({ ...granted, answers: [{ text: "Hi" }] });
  await serveProgram(stage);
  const session = await begin(stage);
  stage.crash();
  const next = await openApiStage({
    ...granted,
    answers: [{ text: "Hi" }],
    disk: stage.disk,
    world: stage.world,
  });
  await next.world.advance(programLimits.leaseGraceMs);
  await next.world.settle();
  await next.run(next.client().ask({ address: session, text: "Again" }));
  const bound = (await next.entries(session as never)).filter(({ type }) => type === "tools.bound");
  assert.deepEqual(bound.map(({ body }) => (body as { readonly tools: number }).tools), [1, 0]);
  assert.equal(
    (await refused(next, next.client().program_refresh({ program: "acme" }))).code,
    "program_not_found",
  );
});

Deno.test("another process of a program takes its place: what the first one was handed is lost, what waits is its own (CM-33)", async () => {
  const stage = await openApiStage(oneCall);
  const first = await serveProgram(stage);
  const session = await begin(stage);
  assert.equal(first.calls().length, 1);
  const second = await serveProgram(stage);
  await stage.world.settle();
  assert.equal(second.calls().length, 0);
  assert.match(JSON.stringify(await stage.entries(session as never)), /"code":"program_lost"/);
  const old = first.client.program_calls({ program: "acme", registration: first.handshake.registration });
  assert.equal((await refused(stage, old[Symbol.asyncIterator]().next())).code, "program_replaced");
});

Deno.test("program is gone when its pipe ends, or its heartbeat lapses (CM-33)", async () => {
  const stage = await openApiStage(oneCall);
  const pipe = stage.api.connect();
  const piped = await serveProgram(stage, manifestOf(), stage.client({ connection: pipe.id }));
  const session = await begin(stage);
  assert.equal(piped.calls().length, 1);
  await stage.run(pipe.end());
  await stage.world.settle();
  assert.match(JSON.stringify(await stage.entries(session as never)), /"code":"program_lost"/);
  const beating = await serveProgram(stage);
  await stage.run(beating.client.heartbeat({ every_ms: 1_000 }));
  await stage.world.advance(3_000);
  await stage.world.settle();
  assert.equal(
    (await refused(stage, beating.client.program_refresh({ program: "acme" }))).code,
    "program_not_found",
  );
});

Deno.test("scope of a program's call is built by the host alone: who, where, how; a request that says more is refused (DM-131)", async () => {
  const stage = await openApiStage(oneCall);
  const program = await serveProgram(stage);
  const claims = { ...manifestOf(), principal: "operator:local" } as never;
  assert.equal((await refused(stage, program.client.program_register(claims))).code, "params_invalid");
  const session = await begin(stage);
  const [call] = program.calls();
  assert.deepEqual(call?.request.caller_context, {
    session,
    origin: "model",
    mode: "default",
    capabilities: [],
  });
  // Sessions, calls and reports of one principal are nobody else's.
  const stranger = stage.client({ principal: { ...someProgram, id: "p2" } });
  const taken = await refused(stage, stranger.program_register(manifestOf()));
  assert.equal(taken.code, "program_taken");
  const own = await serveProgram(stage, manifestOf({}, { program: "other" }), stranger);
  const theirs = await stage.run(stranger.spawn({ agent: "tester" }));
  await stage.world.settle();
  const told = async (address: string) =>
    JSON.stringify(await stage.entries(address.replace("session/", "catalog/") as never));
  assert.ok((await told(theirs.address)).includes('"origin":"other"'));
  assert.ok(!(await told(theirs.address)).includes('"origin":"acme"'));
  assert.ok(!(await told(session)).includes('"origin":"other"'));
  const result = { invocation_id: call?.request.invocation_id ?? "", status: "succeeded" as const };
  const forged = { program: "acme", message_id: "x", call_id: call?.call_id ?? "", result };
  assert.equal((await refused(stage, stranger.program_report(forged))).code, "program_not_found");
  const invented = { ...forged, program: "other" };
  assert.equal((await refused(stage, own.client.program_report(invented))).code, "report_stale");
});

Deno.test("program opens a call of its own tool in the turn that runs: new, known, and refused if none runs or it is stopped (CM-61)", async () => {
  const script = { ...granted, answers: [greeting, { text: "Done." }] };
  const stage = await openApiStage({ ...script, config: { policy: { tools: { wave: "prompt" } } } });
  const [tool] = manifestOf().tools;
  assert.ok(tool);
  const wave = { ...tool, name: "wave" };
  const program = await serveProgram(stage, manifestOf({}, { tools: [tool, wave] }));
  const invoke = (address: string, name: string, key: string) =>
    program.client.invoke({ address, program: "acme", tool: name, arguments: { to: "Bob" } }, { key });
  const { address: idle } = await stage.run(stage.client().spawn({ agent: "tester" }));
  assert.equal((await refused(stage, invoke(idle, "greet", "k0"))).code, "turn_not_running");
  const session = await begin(stage);
  const [first] = program.calls();
  assert.ok(first);
  const opened = await stage.run(invoke(session, "greet", "k1"));
  assert.deepEqual(opened, { address: session, call: "turn/1/call/0.1", state: "open" });
  assert.deepEqual(await stage.run(invoke(session, "greet", "k1")), opened);
  await stage.world.settle();
  assert.deepEqual(program.calls().map(({ request }) => request.input), [{ name: "Ann" }, { to: "Bob" }]);
  assert.equal((await refused(stage, invoke(session, "read_file", "k2"))).code, "tool_not_bound");
  assert.equal(
    (await refused(
      stage,
      invoke(session, "greet", "k1 ").catch((error) => {
        throw error;
      }),
    )).code,
    "idempotency_key_invalid",
  );
  // The one that a person is asked about passes its gates like any other.
  await stage.run(invoke(session, "wave", "k3"));
  await stage.world.settle();
  const { questions } = await stage.run(program.client.questions({ address: session }));
  assert.equal(questions.length, 1);
  assert.equal(program.calls().length, 2);
  const operator = stage.client({
    principal: { kind: "operator", id: "local" },
    scopes: new Set(["approvals:decide"]),
  });
  const [{ id: question, shown } = { id: "", shown: "" }] = questions;
  await overTime(stage, operator.answer({ question, decision: "deny", shown }));
  await overTime(stage, program.done(first, "m1"));
  const rows = await rowsOf(stage, session);
  assert.deepEqual(
    rows.map(({ outcome }) => outcome),
    ["succeeded", "running", "denied"],
    "the turn waits for it",
  );
  const [, second] = program.calls();
  assert.ok(second);
  await stage.run(program.done(second, "m2"));
  await stage.world.settle();
  const entries = await stage.entries(session as never);
  const told = entries.findLast(({ type, kind }) => kind === "intent" && type === "model.generate");
  assert.equal(
    JSON.stringify(told?.body).match(/"type":"result"/g)?.length,
    1,
    "the model is told of its own call alone",
  );
  assert.equal((await refused(stage, invoke(session, "greet", "k4"))).code, "turn_not_running");
  assert.equal((await stage.replay(session as never, { strict: true })).divergence, undefined);
});

Deno.test("call that a program wants to open in a session that is being stopped is refused, though its turn goes on (CM-61)", async () => {
  const stage = await openApiStage(oneCall);
  const program = await serveProgram(stage);
  const session = await begin(stage);
  const params = { address: session, program: "acme", tool: "greet" };
  const stopping = stage.client().stop({ address: session, strictness: "graceful" });
  await stage.world.settle();
  assert.equal((await refused(stage, program.client.invoke(params))).code, "turn_not_running");
  const [call, ...more] = program.calls();
  assert.ok(call);
  assert.equal(more.length, 0);
  await overTime(stage, program.done(call, "m1"));
  assert.equal((await overTime(stage, stopping)).state, "closed");
  assert.deepEqual((await rowsOf(stage, session)).map(({ outcome }) => outcome), ["succeeded"]);
});
