/** Images in prompts: told by their first bytes, kept as blobs, shown to models that take them, refused by others before anything is sent. */
import assert from "node:assert/strict";
import type { GivenImage } from "../../schemas/image.ts";
import { limits } from "../../schemas/limits.ts";
import type { ModelMessage, ModelRequest } from "../../schemas/model.ts";
import { requestMessages } from "../../src/effects/request_messages.ts";
import { withImages } from "../../src/effects/shown_images.ts";
import { writeExport } from "../../src/export/export_write.ts";
import { examine } from "../../src/journal/doctor.ts";
import { keys } from "../../src/journal/keys.ts";
import { imagesIn, mayNameBlobs } from "../../src/journal/named_blobs.ts";
import { StoreError } from "../../src/journal/store.ts";
import { KernelError } from "../../src/kernel/kernel.ts";
import { imageTypeOf } from "../../src/prompt_images.ts";
import { scriptedCapabilities } from "../../src/model/scripted.ts";
import type { TurnReport } from "../../src/turn_report.ts";
import { openApiStage } from "../support/api_stage.ts";
import { openStage, settled, type Stage } from "../support/stage.ts";
import { chatWire } from "../support/vendors/chat_wire.ts";
import { geminiWire } from "../support/vendors/gemini_wire.ts";
import { messagesWire } from "../support/vendors/messages_wire.ts";
import { responsesWire } from "../support/vendors/responses_wire.ts";
import { ask, heard, inTurn, withVendor } from "../support/vendors/vendor_server.ts";

/** One pixel. */
const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const image: GivenImage = { media_type: "image/png", data: png };
const seeing = { imageInput: true };

async function prompt(
  stage: Stage,
  session: string,
  images: GivenImage[],
  key: string,
): Promise<TurnReport> {
  const { report } = await settled(
    stage.world,
    stage.runtime.prompt(session, `What is this? ${key}`, { key, images }),
  );
  return await settled(stage.world, report);
}

Deno.test("kind of an image is told by its first bytes, whatever it is called", () => {
  const kinds: readonly [string | Uint8Array, string | undefined][] = [
    [Uint8Array.fromBase64(png), "image/png"],
    ["\xff\xd8\xff\xe0 JFIF", "image/jpeg"],
    ["GIF87a..", "image/gif"],
    ["GIF89a..", "image/gif"],
    ["RIFF\x00\x01\n\x03WEBPVP8 ", "image/webp"],
    ["RIFF\x00\x01\x02\x03WAVEfmt ", undefined],
    ["<svg/>", undefined],
    ["", undefined],
  ];
  for (const [bytes, kind] of kinds) {
    const given = typeof bytes === "string" ? Uint8Array.from(bytes, (one) => one.charCodeAt(0)) : bytes;
    assert.equal(imageTypeOf(given), kind);
  }
});

Deno.test("image of a prompt is a blob that its entry names, told to every request of the session, and replay needs none of it", async () => {
  const stage = await openStage({
    script: { capabilities: seeing, answers: [{ text: "A pixel" }, { text: "Still a pixel" }] },
  });
  const session = await stage.session();
  assert.equal((await prompt(stage, session, [image, image], "one")).text, "A pixel");
  const entries = await stage.entries(session);
  const [first] = entries.filter(({ type }) => type === "session.prompt");
  assert.ok(first !== undefined && mayNameBlobs(first));
  const [digest = "", again] = imagesIn(first);
  assert.equal(again, digest);
  assert.equal((await stage.runtime.journal.readBlob(digest)).toBase64(), png);
  assert.ok(!JSON.stringify(entries).includes(png.slice(0, 40)), "no entry holds the bytes");
  const told = await settled(stage.world, stage.runtime.conversations.transcript(session, "1.0"));
  const shown = told.flatMap((one) => one.role === "user" ? one.images ?? [] : []);
  assert.deepEqual(shown.map((one) => [one.digest, one.mediaType, one.turn]), [
    [digest, "image/png", 1],
    [digest, "image/png", 1],
  ]);
  assert.equal((await stage.replay(session, { strict: true })).divergence, undefined);
  // An export has it; the doctor misses it.
  const record = stage.runtime.kernel.records.get(session);
  assert.ok(record !== undefined);
  const lines: string[] = [];
  const write = (text: string) => Promise.resolve(void lines.push(text));
  const { digest: hash } = stage.world.seams;
  await writeExport({ records: stage.runtime.journal, root: record, digest: hash, write });
  assert.ok(lines.join("").includes(JSON.stringify({ blob: digest, base64: png })));
  await settled(stage.world, stage.runtime.journal.writer.idle());
  const copy = stage.disk.copy();
  copy.damage(keys.blob(digest), () => undefined);
  const { findings } = await examine(copy.open(), hash);
  assert.deepEqual(findings.map(({ code, first: seq }) => [code, seq]), [["blob_damaged", first.seq], [
    "blob_damaged",
    first.seq,
  ]]);
  // The same key with another image is another prompt.
  const other = stage.runtime.prompt(session, "What is this? one", { key: "one", images: [image] });
  await assert.rejects(settled(stage.world, other), { code: "idempotency_key_reuse" });
});

Deno.test("model that takes no images fails the turn that brings one before it is asked, and goes on with the next", async () => {
  const stage = await openStage({ answers: [{ text: "Hello" }] });
  const session = await stage.session();
  const refused = await prompt(stage, session, [image], "one");
  assert.deepEqual([refused.outcome, refused.failure?.code], ["failed", "model_input_unsupported"]);
  assert.match(refused.failure?.message ?? "", /takes no images: choose one that does/);
  const next = await prompt(stage, session, [], "two");
  assert.deepEqual([next.outcome, next.text], ["completed", "Hello"]);
  assert.equal((await stage.replay(session, { strict: true })).divergence, undefined);
});

Deno.test("image that is none, has another name or no base64, or comes ninth is refused, and no prompt is there", async () => {
  const stage = await openApiStage({ script: { capabilities: seeing, answers: [{ text: "A pixel" }] } });
  const client = stage.client();
  const { address } = await stage.run(client.spawn({ agent: "tester" }));
  const bad: readonly [GivenImage[], string, RegExp][] = [
    [[{ media_type: "image/png", data: "!" }], "image_invalid", /image 1 is no base64/],
    [[image, { media_type: "image/png", data: "aGVsbG8=" }], "image_invalid", /image 2 is none/],
    [[{ ...image, media_type: "image/gif" }], "image_invalid", /called image\/gif, and is image\/png/],
    [Array.from({ length: limits.imagesPerPromptMax + 1 }, () => image), "params_invalid", /images: Too big/],
  ];
  for (const [images, code, words] of bad) {
    const error = await stage.run(
      client.ask({ address, text: "What?", images }).catch((one: unknown) => one),
    );
    assert.deepEqual([(error as KernelError).code, words.test(String(error))], [code, true], String(error));
  }
  const turn = await stage.run(client.ask({ address, text: "What?", images: [image] }));
  assert.deepEqual(turn.state === "ended" && [turn.turn, turn.text], [1, "A pixel"]);
});

const seen = { digest: `sha256:${"a".repeat(64)}`, mediaType: "image/png" as const, bytes: 70 };

function asked(turn: number): ModelRequest {
  const messages: ModelMessage[] = [{ role: "user", text: "What is this?", images: [{ ...seen, turn }] }];
  return ask({ messages });
}

Deno.test("images stay with their words where two messages of a user become one", () => {
  const two = [asked(1), asked(2)].flatMap(({ messages }) => messages);
  const [one, ...none] = requestMessages(two);
  assert.deepEqual(one?.role === "user" && one.images?.map(({ turn }) => turn), [1, 2]);
  assert.deepEqual(none, []);
});

Deno.test("images of earlier turns are told in words to a model that takes none, and a lost one is said", async () => {
  const parts = { turn: 2, model: "m", capabilities: scriptedCapabilities, readBlob: undefined };
  const told = await withImages(asked(1), parts);
  assert.ok(!("failure" in told));
  assert.deepEqual(told.messages, [{
    role: "user",
    text: "What is this?\n[image/png, which this model is not shown]",
  }]);
  const lost = await withImages(asked(1), {
    ...parts,
    capabilities: { ...scriptedCapabilities, ...seeing },
    readBlob: () => Promise.reject(new StoreError("journal_corrupt", "Gone")),
  });
  assert.match("failure" in lost ? lost.failure.message : "", /cannot be read: run troupe doctor/);
});

Deno.test("each vendor is shown an image as its protocol says, over HTTP", async () => {
  const images = new Map([[seen.digest, Uint8Array.fromBase64(png)]]);
  for (const wire of [chatWire, responsesWire, messagesWire, geminiWire]) {
    await withVendor(wire, inTurn(wire, [{ text: "A pixel" }]), async ({ server, provider }) => {
      await heard(provider, { ...asked(1), images });
      const body = JSON.stringify(server.asked[0]?.body);
      assert.ok(body.includes(png) && body.includes("image/png"), `${wire.kind}: ${body}`);
      assert.ok(body.indexOf("What is this?") < body.indexOf(png), "the words come first");
    });
  }
});
