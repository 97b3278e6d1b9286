// Proves LC-15: a result that was cut can be read to its end, and only by the session that got it.
import assert from "node:assert/strict";
import type { ToolResultEnvelope } from "../../schemas/tool.ts";
import { readResult } from "../../src/tools/read_result.ts";
import { textEnvelope, type ToolUseContext } from "../../src/tools/tool.ts";
import { openStage, settled } from "../support/stage.ts";
import { createBlobs, textIn, useIn } from "../support/tools.ts";

const blobs = createBlobs();

async function keep(envelope: ToolResultEnvelope): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(envelope));
  return (await blobs.put(bytes, "application/json", "sample.json")).digest;
}

function useOf(...results: readonly string[]): ToolUseContext {
  const has = (digest: string) => Promise.resolve(results.includes(digest));
  return useIn(undefined as never, { blobs, results: { has } });
}

async function read(input: object, use: ToolUseContext): Promise<string> {
  return textIn(await readResult.handler(input, use));
}

Deno.test("read_result goes through a long result piece by piece, and gives all of it", async () => {
  const text = `${"line of text\n".repeat(3_000)}END \u{1f600}`;
  const result = await keep(textEnvelope(text));
  const use = useOf(result);
  let whole = "";
  for (let offset: number | undefined = 0; offset !== undefined;) {
    const page: string = await read({ result, offset, limit: 9_999 }, use);
    const next: RegExpExecArray | null = /\n\[(\d+) more characters; go on with offset (\d+)\]$/.exec(page);
    whole += next === null ? page : page.slice(0, next.index);
    if (next !== null) assert.equal(Number(next[1]), text.length - Number(next[2]));
    offset = next === null ? undefined : Number(next[2]);
  }
  assert.equal(whole, text);
  assert.equal(await read({ result, offset: text.length }, use), "");
  assert.equal(await read({ result, offset: text.length + 1 }, use), "arguments_invalid");
});

Deno.test("read_result never ends a piece with half of a character", async () => {
  const result = await keep(textEnvelope("\u{1f600}".repeat(10)));
  const page = await read({ result, limit: 3 }, useOf(result));
  assert.equal(page, "\u{1f600}\n[18 more characters; go on with offset 2]");
});

Deno.test("read_result reads nothing but results of its own session", async () => {
  const foreign = await keep(textEnvelope("of another session"));
  const catalog = (await blobs.put(new TextEncoder().encode('{"epoch":1}'), "application/json", "c")).digest;
  const gone = `sha256:${"0".repeat(64)}`;
  assert.equal(await read({ result: foreign }, useOf()), "result_not_found");
  assert.equal(await read({ result: catalog }, useOf(catalog)), "result_not_found");
  assert.equal(await read({ result: gone }, useOf(gone)), "result_not_found");
  assert.equal(await read({ result: "sha256:x" }, useOf()), "arguments_invalid");
});

Deno.test("conversations know the whole results of their session, also after they were forgotten", async () => {
  const text = "abcdefghij".repeat(2_000);
  const answers = [{ calls: [{ tool: "long" }] }, { text: "Done." }];
  const stage = await openStage({ answers, tools: [{ name: "long", work: () => Promise.resolve(text) }] });
  const [session, other] = [await stage.session(), await stage.session()];
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Go"));
  await settled(stage.world, report);
  const outcome = (await stage.entries(session)).find(({ kind, type }) =>
    kind === "outcome" && type === "tool.call"
  );
  const { full } = (outcome?.body as unknown as { value: { full: { digest: string } } }).value;
  const { conversations } = stage.runtime;
  for (const isForgotten of [false, true]) {
    if (isForgotten) conversations.forget(session);
    assert.equal(await settled(stage.world, conversations.hasResult(session, full.digest)), true);
    assert.equal(await settled(stage.world, conversations.hasResult(other, full.digest)), false);
  }
});
