/** Whether a turn asks its model once more where that helps, each time for a reason that the journal names. */
import assert from "node:assert/strict";
import { modelWaitAfter } from "../../actors/retry.ts";
import type { Entry } from "../../schemas/entry.ts";
import { GenerateArgs } from "../../schemas/generate.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { Recovery } from "../../schemas/recovery.ts";
import { goOnText } from "../../src/effects/conversation_fold.ts";
import { openStage, settled, type Stage, type StageOptions } from "../support/stage.ts";

interface Played {
  readonly stage: Stage;
  readonly session: RootAddress;
  readonly entries: readonly Entry[];
  readonly told: string;
}

/** Plays one turn to its end. */
async function play(answers: readonly unknown[], options: StageOptions = {}): Promise<Played> {
  const recovery = Recovery.parse({ waits: "never" });
  const stage = await openStage({ answers, recovery, ...options });
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Go", "the-prompt"));
  let told = "";
  report.then(({ outcome, failure, text }) => told = [outcome, failure?.code ?? text].join(": "));
  for (let steps = 0; told === "" && steps < 100; steps++) await stage.world.advance(1_000);
  assert.equal((await stage.replay(session, { strict: true })).divergence, undefined);
  return { stage, session, entries: await stage.entries(session), told };
}

function requestsIn(entries: readonly Entry[]): readonly GenerateArgs[] {
  return entries.filter(({ kind, type }) => kind === "intent" && type === "model.generate")
    .map(({ body }) => GenerateArgs.parse((body as { readonly args: unknown }).args));
}

/** Why each request was made: its reason, step and attempt. */
function reasonsIn(entries: readonly Entry[]): readonly string[] {
  return requestsIn(entries).map(({ continuation, step, attempt = 1 }) =>
    `${continuation?.reason ?? "first"} ${step}.${attempt}`
  );
}

const length = { finish_reason: "length" };

Deno.test("answer that was cut off is gone on with, and is one answer in the end, after a restart too (LC-30, LC-31)", async () => {
  const answers = [{ text: "One, ", ...length }, { text: "two, ", ...length, expect: "" }, { text: "three" }];
  const { stage, session, entries, told } = await play(answers);
  assert.equal(told, "completed: One, two, three");
  assert.deepEqual(reasonsIn(entries), ["first 0.1", "max_tokens_recovery 1.1", "max_tokens_recovery 2.1"]);
  const after = requestsIn(entries).map(({ continuation }) => continuation?.parts?.length ?? 0);
  assert.deepEqual(after, [0, 1, 2]);
  const messages = await settled(stage.world, stage.runtime.conversations.transcript(session, "1.0"));
  assert.deepEqual(messages.map(({ role, text }) => [role, text]), [
    ["user", "Go"],
    ["assistant", "One, "],
    ["user", goOnText],
    ["assistant", "two, "],
    ["user", goOnText],
    ["assistant", "three"],
  ]);
  await settled(stage.world, stage.runtime.journal.writer.idle());
  stage.crash();
  const again = await openStage({ answers, world: stage.world, disk: stage.disk });
  const { report } = await settled(again.world, again.runtime.prompt(session, "Go", "the-prompt"));
  assert.equal((await settled(again.world, report)).text, "One, two, three");
});

Deno.test("answer that is cut off again and again is gone on with three times, and then is what it is (LC-30)", async () => {
  const answers = ["a", "b", "c", "d", "e"].map((text) => ({ text, ...length }));
  const { entries, told } = await play(answers);
  assert.equal(limits.truncationsMax, 3);
  assert.deepEqual([requestsIn(entries).length, told], [4, "completed: abcd"]);
  const short = await play(answers, { agent: { limits: { rounds_per_turn: 2 } } });
  assert.deepEqual(
    [requestsIn(short.entries).length, short.told],
    [2, "completed: ab"],
    "rounds are a bound too",
  );
});

Deno.test("answer that was cut off with calls is done first, and one without a word is no answer to go on with (LC-30)", async () => {
  const call = { calls: [{ tool: "look" }] };
  const tools = [{ name: "look" }];
  const { entries, told } = await play([
    { text: "Let me ", ...length },
    { text: "look", ...call, ...length },
    { text: "Seen", ...length },
    { text: "." },
  ], { tools });
  assert.deepEqual(reasonsIn(entries), [
    "first 0.1",
    "max_tokens_recovery 1.1",
    "tool_result_continuation 2.1",
    "max_tokens_recovery 3.1",
  ]);
  assert.equal(told, "completed: Seen.");
  assert.equal((await play([{ ...length }, { text: "never" }])).told, "completed: ");
});

Deno.test("tries of a model double their wait from 1 s to 30 s, with up to 1 s by chance, each step anew (LC-30, LC-31)", async () => {
  const { entries, told } = await play([
    { calls: [{ tool: "look" }], fail: { code: "model_unreachable", times: 2 } },
    { text: "a", ...length },
    { text: "b", fail: { code: "model_server_failed", times: 4 } },
  ], { tools: [{ name: "look" }] });
  assert.equal(told, "completed: ab");
  assert.deepEqual(reasonsIn(entries), [
    "first 0.1",
    "transport_retry 0.2",
    "transport_retry 0.3",
    "tool_result_continuation 1.1",
    "max_tokens_recovery 2.1",
    "max_tokens_recovery 2.2",
    "max_tokens_recovery 2.3",
    "max_tokens_recovery 2.4",
    "max_tokens_recovery 2.5",
  ]);
  const timers = entries.filter(({ kind, type }) => kind === "intent" && type === "timer.set");
  const waits = timers.map(({ at, body }) => {
    const { dueAtMs, jitterMs } = (body as unknown as { args: { dueAtMs: number; jitterMs: number } }).args;
    return [dueAtMs - at, jitterMs];
  });
  assert.deepEqual(waits, [1, 2, 1, 2, 4, 8].map((seconds) => [seconds * 1_000, 1_000]));
  const late = modelWaitAfter({ at: 0, attempt: 9, why: null, label: "late" });
  assert.deepEqual(late, { dueAtMs: 30_000, jitterMs: 1_000, label: "late" });
  const fired = entries.filter(({ kind, type }) => kind === "outcome" && type === "timer.set");
  const drawn = fired.map(({ at }, index) => at - (timers[index]?.at ?? 0) - (waits[index]?.[0] ?? 0));
  assert.ok(drawn.every((ms) => ms >= 0 && ms <= 1_000) && new Set(drawn).size > 1, drawn.join(" "));
});

Deno.test("session that knows of no recovery is asked as before: no reasons, no going on", async () => {
  const { entries, told } = await play([{ text: "One, ", ...length }, { text: "two" }], {
    recovery: undefined as never,
  });
  assert.deepEqual([reasonsIn(entries), told], [["first 0.1"], "completed: One, "]);
});
