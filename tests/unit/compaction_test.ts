/** Whether a conversation that is too long for its model is made shorter once, the same in replay, and says by what. */
import assert from "node:assert/strict";
import type { Entry } from "../../schemas/entry.ts";
import { GenerateArgs } from "../../schemas/generate.ts";
import { limits } from "../../schemas/limits.ts";
import type { ModelMessage } from "../../schemas/model.ts";
import { Recovery } from "../../schemas/recovery.ts";
import { entryText } from "../../src/cli/entry_text.ts";
import { compact, compactedNote } from "../../src/effects/compaction.ts";
import { requestMessages } from "../../src/effects/request_messages.ts";
import { openStage, settled, type Stage, type ToolSketch } from "../support/stage.ts";

const long = "x".repeat(5_000);
const tools: readonly ToolSketch[] = [{
  name: "look",
  work: (_use, input) => Promise.resolve(`${JSON.stringify(input)} ${long}`),
}];
/** An answer that calls the tool. */
function look(text: string) {
  return { calls: [{ tool: "look", arguments: { text } }] };
}

const tooLong = { code: "model_context_exceeded", message: "Too many tokens" };

async function play(answers: readonly unknown[]) {
  const stage = await openStage({ answers, tools, recovery: Recovery.parse({}) });
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Go"));
  let told = "";
  report.then(({ outcome, failure, text }) => told = `${outcome}: ${failure?.message ?? text}`);
  for (let steps = 0; told === "" && steps < 60; steps++) await stage.world.advance(1_000);
  await settled(stage.world, stage.runtime.journal.writer.idle());
  assert.equal((await stage.replay(session, { strict: true })).divergence, undefined);
  return { stage, session, told, entries: await stage.entries(session) };
}

function requestsIn(entries: readonly Entry[]): readonly GenerateArgs[] {
  return entries.filter(({ kind, type }) => kind === "intent" && type === "model.generate")
    .map(({ body }) => GenerateArgs.parse((body as { readonly args: unknown }).args));
}

/** The results as the model is told them: whole, or by reference. */
async function resultsIn(stage: Stage, session: string): Promise<readonly string[]> {
  const messages = await settled(
    stage.world,
    stage.runtime.conversations.transcript(session as never, "1.0"),
  );
  return messages.filter(({ role }) => role === "tool").map(({ text }) => {
    const name = /"text":"(\w)"/.exec(text)?.[1] ?? "";
    return text.includes(long) ? `whole ${name}` : text;
  });
}

Deno.test("conversation that is too long is asked again once without its old results, and goes on without them (LC-30, LC-31)", async () => {
  const { stage, session, told, entries } = await play([
    look("a"),
    look("b"),
    look("c"),
    { ...look("d"), fail: { ...tooLong, times: 1 } },
    { text: "Seen" },
  ]);
  assert.equal(told, "completed: Seen");
  const asked = requestsIn(entries).map(({ step, attempt, continuation, compact }) =>
    [step, attempt ?? 1, continuation?.reason ?? "first", compact === true ? "compact" : ""].join(" ").trim()
  );
  assert.deepEqual(asked, [
    "0 1 first",
    "1 1 tool_result_continuation",
    "2 1 tool_result_continuation",
    "3 1 tool_result_continuation",
    "3 2 compact_retry compact",
    "4 1 tool_result_continuation",
  ]);
  const notes = entries.filter(({ type }) => type === compactedNote);
  const [body] = notes.map((note) =>
    note.body as { readonly count: number; readonly dropped: readonly object[] }
  );
  assert.deepEqual([notes.length, body?.count], [1, 1]);
  const [dropped] = body?.dropped ?? [];
  assert.deepEqual(Object.keys(dropped ?? {}).sort(), ["callId", "characters", "name"]);
  assert.match(
    entryText(notes[0] as Entry),
    /turn 1 step 3: the conversation was too long, 1 old results, 5\d\d\d characters/,
  );
  // Of the four results the first is a reference for good; what came since is whole.
  const told4 = await resultsIn(stage, session);
  assert.match(
    told4[0] ?? "",
    /^\[the result of look, 5\d+ characters, was left out to make room: call the tool again/,
  );
  assert.deepEqual(told4.slice(1), ["whole b", "whole c", "whole d"]);
  // Read from the journal by the next process it is the same.
  stage.crash();
  const again = await openStage({ tools, world: stage.world, disk: stage.disk });
  assert.deepEqual(await resultsIn(again, session), told4);
});

Deno.test("conversation that stays too long ends its turn with that, after one retry (LC-30)", async () => {
  const { told, entries } = await play([look("a"), { fail: tooLong, text: "never" }]);
  assert.equal(told, "failed: Too many tokens; old results were left out already: begin another session");
  assert.equal(requestsIn(entries).length, 3);
  assert.equal(entries.some(({ type }) => type === compactedNote), false, "there was nothing to leave out");
});

Deno.test("compaction keeps pairs, the newest results and what is short, names blobs, and does nothing twice", () => {
  const messages: ModelMessage[] = ["a", "b", "c", "d", "e"].flatMap((id): ModelMessage[] => [
    { role: "assistant", text: "", calls: [{ callId: id, name: "look", arguments: {} }] },
    { role: "tool", callId: id, name: "look", text: id === "b" ? "short" : long, isError: false },
  ]);
  const digests = new Map([[messages[1], "sha256:aa"]]);
  const dropped = compact(messages, (message) => digests.get(message));
  assert.deepEqual(dropped, [
    { callId: "a", name: "look", characters: 5_000, digest: "sha256:aa" },
    { callId: "c", name: "look", characters: 5_000 },
  ]);
  const results = messages.filter(({ role }) => role === "tool").map(({ text }) => text);
  assert.match(results[0] ?? "", /read_result sha256:aa shows it\]$/);
  assert.deepEqual([results[1], ...results.slice(3)], ["short", long, long]);
  assert.equal(limits.compactionResultsKept, 2);
  assert.deepEqual(requestMessages(messages), messages);
  assert.deepEqual(compact(messages, () => undefined), []);
});
