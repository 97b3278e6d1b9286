/** How failed attempts are followed by others: as soon, as often and as visibly as their kind allows (AR-26..AR-29). */
import assert from "node:assert/strict";
import { entryOf } from "../../actors/library.ts";
import type { PortRequestOf } from "../../schemas/effect.ts";
import type { Entry } from "../../schemas/entry.ts";
import type { FailureCode } from "../../schemas/failure.ts";
import { InvocationRetried, ModelRetried } from "../../schemas/retry.ts";
import { entryText } from "../../src/cli/entry_text.ts";
import { InvocationFold } from "../../src/records/invocation_fold.ts";
import { type Call, effectOf, failedCall, startCall } from "../support/calls.ts";
import { openStage, settled, type Stage } from "../support/stage.ts";

/** Plays one turn to its end; time moves by a second at a time. Gives how it ended and what the journal has. */
async function play(stage: Stage): Promise<{ readonly told: string; readonly entries: readonly Entry[] }> {
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Go"));
  let told = "";
  report.then(({ outcome, failure }) => told = [outcome, failure?.code].join(" ").trim());
  for (let seconds = 0; told === "" && seconds < 300; seconds++) await stage.world.advance(1_000);
  assert.deepEqual((await stage.replay(session, { strict: true })).divergence, undefined);
  return { told, entries: await stage.entries(session) };
}

function notesOf(entries: readonly Entry[], type: string): readonly Entry[] {
  return entries.filter((entry) => entry.kind === "note" && entry.type === type);
}

function asksOf(entries: readonly Entry[], type: string): readonly Entry[] {
  return entries.filter((entry) => entry.kind === "intent" && entry.type === type);
}

Deno.test("model that is not to be had for a moment is asked again, and each further attempt is on record (AR-26, AR-28)", async () => {
  for (const code of ["model_rate_limited", "model_unreachable", "model_server_failed"] as const) {
    const stage = await openStage({ answers: [{ text: "Done.", fail: { code, times: 2 } }] });
    const { told, entries } = await play(stage);
    assert.deepEqual([told, asksOf(entries, "model.generate").length], ["completed", 3]);
    const notes = notesOf(entries, "model.retried");
    assert.deepEqual(
      notes.map(({ body }) => ModelRetried.parse(body)),
      [2, 3].map((attempt) => ({
        operation: "model_generate",
        idempotency: "idempotent",
        attempt,
        maxAttempts: 5,
        lastErrorCode: code,
        turn: 1,
        step: 0,
        model: "scripted/test",
      })),
    );
    assert.equal(
      entryText(notes[0] as Entry),
      `scripted/test turn 1 step 0 attempt 2 of 5, model_generate idempotent, after ${code}`,
    );
  }
});

Deno.test("model that fails for good, or for too often, is not asked again (AR-25, AR-29)", async () => {
  const cases: readonly (readonly [FailureCode, number])[] = [
    ["model_server_failed", 5],
    ["model_login_failed", 1],
    ["model_quota_exceeded", 1],
    ["model_context_exceeded", 1],
    ["model_schema_unsupported", 1],
    ["model_refused", 1],
    ["model_failed", 1],
  ];
  for (const [code, times] of cases) {
    const { told, entries } = await play(await openStage({ answers: [{ fail: { code } }] }));
    assert.deepEqual([told, asksOf(entries, "model.generate").length], [`failed ${code}`, times]);
  }
});

Deno.test("model that asks to be left alone is left alone for as long, within a bound (AR-25)", async () => {
  const fail = { code: "model_rate_limited", retry_after_ms: 20_000, times: 1 };
  const { told, entries } = await play(await openStage({ answers: [{ text: "Done.", fail }] }));
  const [first, second] = asksOf(entries, "model.generate");
  assert.ok(told === "completed" && first !== undefined && second !== undefined);
  assert.ok(second.at - first.at >= 20_000, `asked again after ${second.at - first.at} ms`);
  const long = { code: "model_rate_limited", retry_after_ms: 3_600_000 };
  const refused = await play(await openStage({ answers: [{ fail: long }] }));
  assert.equal(refused.told, "failed model_rate_limited");
  assert.equal(asksOf(refused.entries, "model.generate").length, 1);
});

/** The records of further attempts that a call has posted. */
function retriesOf(call: Call): readonly InvocationRetried[] {
  return call.run.notes().filter(({ type }) => type === "invocation.retried")
    .map(({ body }) => InvocationRetried.parse(body));
}

Deno.test("call that certainly did not happen is repeated by its class, and each further attempt is on record (AR-28, AR-29)", () => {
  for (
    const [effect, mechanism, maxAttempts] of [["idempotent", undefined, 5], [
      "conditional",
      "key",
      3,
    ]] as const
  ) {
    const call = failedCall(effectOf(effect, mechanism), { code: "tool_server_failed" });
    call.settle("timer.set", { firedAtMs: 0 });
    const { now } = call.run;
    call.fail("tool.call", { code: "tool_rate_limited", retryAfterMs: 7_000 });
    assert.deepEqual(call.argsOf("timer.set"), {
      dueAtMs: now + 7_000,
      jitterMs: 1_000,
      label: "call/0.0 attempt 3",
    });
    call.settle("timer.set", { firedAtMs: 0 });
    assert.deepEqual(
      retriesOf(call),
      ["tool_server_failed", "tool_rate_limited"].map((lastErrorCode, index) => ({
        ordinal: "call/0.0",
        operation: "local_tool_call",
        idempotency: effect,
        attempt: index + 2,
        maxAttempts,
        lastErrorCode,
      })),
    );
  }
  const harmful = failedCall(effectOf("non_idempotent"), { code: "tool_server_failed" });
  assert.deepEqual([harmful.state(), harmful.pending(), retriesOf(harmful)], ["failed", [], []]);
});

Deno.test("call of a lost server is repeated only if a repeat harms nobody (AR-25, AR-29)", () => {
  const ends = [
    [effectOf("idempotent"), "backingOff"],
    [effectOf("conditional", "key"), "failed"],
    [effectOf("non_idempotent"), "failed"],
  ] as const;
  for (const [sketch, state] of ends) {
    const call = startCall({ ...sketch, entry: { adapter: "mcp", sourceKind: "mcp" } });
    call.fail("mcp.call", { code: "mcp_unavailable" });
    assert.equal(call.state(), state);
    if (state === "failed") continue;
    call.settle("timer.set", { firedAtMs: 0 });
    const [retry] = retriesOf(call);
    assert.deepEqual([retry?.operation, retry?.lastErrorCode], ["mcp_tool_call", "mcp_unavailable"]);
  }
});

Deno.test("call that is not at fault of the moment is not repeated, whatever its failure says of itself (AR-29)", () => {
  for (const code of ["tool_execution_failed", "policy_denied", "too_large", "model_failed"] as const) {
    assert.equal(failedCall({}, { code, retryable: true }).state(), "failed", code);
  }
});

Deno.test("call that a person lets run again says so on record (AR-28)", () => {
  const call = failedCall(effectOf("non_idempotent"), {
    status: "unknown",
    code: "tool_outcome_unknown",
    retryable: false,
  });
  call.decide("run_again");
  const [retry, ...more] = retriesOf(call);
  assert.deepEqual([retry?.attempt, retry?.maxAttempts, retry?.by, more], [2, 1, "operator", []]);
  assert.equal(retry?.lastErrorCode, "tool_outcome_unknown");
});

Deno.test("replayability stands in a tool's definition, in each of its intents, and in what is told of its calls (AR-30)", async () => {
  const classes = [
    ["look", "idempotent", undefined],
    ["charge", "conditional", "key"],
    ["send", "non_idempotent", undefined],
  ] as const;
  const tools = classes.map(([name, effect, mechanism]) => ({
    name,
    effect,
    ...(mechanism === undefined ? {} : { mechanism }),
  }));
  const calls = tools.map(({ name }) => ({ tool: name }));
  const stage = await openStage({ answers: [{ calls }, { text: "Done." }], tools });
  const { entries } = await play(stage);
  const intents = asksOf(entries, "tool.call").map(({ body }) =>
    body as unknown as PortRequestOf<"tool.call">
  );
  assert.deepEqual(
    intents.map(({ args, effect, mechanism }) => [args.entry.name, effect, mechanism]),
    classes,
  );
  const definitions = intents.map(({ args }) => entryOf(args.entry)?.definition);
  assert.deepEqual(definitions.map((one) => [one?.name, one?.effectClass, one?.mechanism]), classes);
  const fold = new InvocationFold();
  for (const entry of entries) fold.take(entry);
  assert.deepEqual(
    fold.rows.map(({ tool, effect, mechanism }) => [tool, effect, mechanism]),
    classes.map(([name, effect, mechanism = ""]) => [name, effect, mechanism]),
  );
});
