/** Whether what a session waits for has one word of the fixed list, whatever it is. */
import assert from "node:assert/strict";
import type { RootAddress } from "../../schemas/ids.ts";
import { offeredDecisions, QuestionKind } from "../../schemas/question.ts";
import { Recovery, WaitReason } from "../../schemas/recovery.ts";
import { readLive } from "../../src/why/read_actors.ts";
import { reasonOf, reasonsOf } from "../../src/why/wait_reason.ts";
import { openStage, settled, type Stage, type StageOptions } from "../support/stage.ts";

async function prompted(
  options: StageOptions,
): Promise<{ readonly stage: Stage; readonly session: RootAddress }> {
  const stage = await openStage({ hasAnswerer: () => true, recovery: Recovery.parse({}), ...options });
  const session = await stage.session();
  await settled(stage.world, stage.runtime.prompt(session, "Go"));
  await stage.world.settle();
  return { stage, session };
}

function reasonsIn({ stage, session }: { readonly stage: Stage; readonly session: RootAddress }) {
  return reasonsOf(readLive(stage.runtime.kernel, session)?.actors ?? []);
}

Deno.test("wait for a person, a provider, or the next try has its word, and a turn that works has none (CM-114)", async () => {
  const call = [{ calls: [{ tool: "pay" }] }];
  const asking = await prompted({ answers: call, tools: [{ name: "pay", approval: "prompt" }] });
  assert.deepEqual(reasonsIn(asking), ["policy_gate"]);
  const works = { name: "pay", work: () => new Promise<string>(() => {}) };
  assert.deepEqual(reasonsIn(await prompted({ answers: call, tools: [works] })), []);
  const trying = await prompted({ answers: [{ fail: { code: "model_unreachable" } }] });
  assert.deepEqual(reasonsIn(trying), ["retryable_failure"]);
  await trying.stage.world.advance(20_000);
  assert.deepEqual(reasonsIn(trying), ["external_dependency_blocked"]);
  const wrong = await prompted({ answers: [{ fail: { code: "model_answer_invalid" } }] });
  assert.deepEqual(reasonsIn(wrong), ["retryable_failure"]);
  const login = await prompted({ answers: [{ fail: { code: "model_login_failed" } }] });
  assert.deepEqual(reasonsIn(login), ["manual_recovery_required"]);
});

Deno.test("wait for what became of a call is one for a person (CM-114)", async () => {
  const tools = [{
    name: "pay",
    effect: "non_idempotent",
    work: () => new Promise<string>(() => {}),
  }] as const;
  const answers = [{ calls: [{ tool: "pay" }] }];
  const { stage, session } = await prompted({ answers, tools });
  await stage.world.advance(1_000);
  stage.crash();
  const { world, disk } = stage;
  const again = await openStage({ answers, tools, world, disk, hasAnswerer: () => true });
  await world.settle();
  assert.deepEqual(reasonsIn({ stage: again, session }), ["manual_recovery_required"]);
});

Deno.test("wait reasons are all there, and each of them has something that is called by it (CM-114)", () => {
  const standing = { wait: undefined, question: undefined };
  const met = new Set<WaitReason | undefined>([
    ...QuestionKind.options.map((question) =>
      reasonOf({ ...standing, machine: "question", state: "pending", question })
    ),
    reasonOf({ ...standing, machine: "invocation", state: "backingOff" }),
    reasonOf({ ...standing, machine: "connection", state: "backoff" }),
    reasonOf({ ...standing, machine: "connection", state: "quarantined" }),
    reasonOf({ ...standing, machine: "session", state: "closing" }),
  ]);
  assert.deepEqual(met, new Set(WaitReason.options));
  assert.equal(reasonOf({ ...standing, machine: "session", state: "toString" }), undefined);
  assert.deepEqual(Object.keys(offeredDecisions).sort(), [...QuestionKind.options].sort());
});
