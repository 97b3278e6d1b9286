/** Outputs of commands as they are kept: without secrets, the end in memory, the whole in a file of its owner alone. */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { type Artifact, ArtifactFile, ArtifactFolder } from "../../src/commands/artifacts.ts";
import { Capture, type Captured } from "../../src/commands/capture.ts";
import { ExactRedactor, type TextFilter } from "../../src/redact/exact_redactor.ts";
import { KnownSecrets } from "../../src/redact/known_secrets.ts";
import { createRedactor } from "../../src/redact/redactor.ts";
import { withFolder } from "../support/tools.ts";
import { createWorld } from "../support/world.ts";

const { digest } = createWorld().seams;
const session = "session/ses_01J00000000000000000000001";
const encoder = new TextEncoder();

/** Takes everything, and keeps it in memory. */
class Kept implements Artifact {
  text = "";
  write(text: string): Promise<void> {
    this.text += text;
    return Promise.resolve();
  }
  close(): Promise<undefined> {
    return Promise.resolve(undefined);
  }
}

interface Written {
  readonly captured: Captured;
  readonly failures: number;
}

async function capture(
  chunks: readonly (string | Uint8Array)[],
  artifact: Artifact,
  filters: readonly TextFilter[] = [],
): Promise<Written> {
  let failures = 0;
  const made = new Capture({ filters, artifact, onFailure: () => void (failures += 1) });
  for (const chunk of chunks) await made.push(typeof chunk === "string" ? encoder.encode(chunk) : chunk);
  await made.end(false);
  return { captured: made.captured, failures };
}

/** Every way to cut a text in two, and once into single characters. */
function cuts(text: string): readonly (readonly string[])[] {
  return [
    ...Array.from({ length: text.length + 1 }, (_, at) => [text.slice(0, at), text.slice(at)]),
    [...text],
  ];
}

Deno.test("capture takes bound secrets out wherever the stream was cut, before anything is kept (DM-86, DM-101, DM-138)", async () => {
  const values = ["pin1", "pin1-and-more", "two\nlines"];
  const text = "a pin1 b pin1-and-more c pin1-and two\nlines, two\nlin";
  for (const chunks of cuts(text)) {
    const artifact = new Kept();
    const { captured } = await capture(chunks, artifact, [new ExactRedactor(values)]);
    const clean = "a [redacted] b [redacted] c [redacted]-and [redacted], [redacted]";
    assert.equal(artifact.text, clean, JSON.stringify(chunks));
    assert.equal(captured.tail, clean);
    // Totals are those of what the command wrote.
    assert.deepEqual([captured.bytes, captured.characters], [text.length, text.length]);
  }
});

Deno.test("capture takes known secrets out wherever the stream was cut (DM-101, B111)", async () => {
  const known = new KnownSecrets();
  known.add({ value: "k9-Vwx-1234-secret", name: "KEY", source: "env:KEY" });
  for (const chunks of cuts("left k9-Vwx-1234-secret right")) {
    const artifact = new Kept();
    await capture(chunks, artifact, [createRedactor({ known }).stream("model")]);
    assert.equal(artifact.text, "left [redacted] right", JSON.stringify(chunks));
  }
});

Deno.test("exact redactor holds back no more than may become a value", () => {
  const redactor = new ExactRedactor(["abc"]);
  assert.deepEqual(
    ["xa", "b", "x", "ab", "c", "a"].map((piece) => redactor.push(piece)),
    ["x", "", "abx", "", "[redacted]", ""],
  );
  assert.equal(redactor.flush(), "a");
  assert.equal(new ExactRedactor(["", ""]).push("as it is"), "as it is");
});

Deno.test("capture keeps the last 12,000 characters, the totals, and says that there was more (DM-99)", async () => {
  assert.equal(limits.commandTailCharactersMax, 12_000);
  const piece = "0123456789".repeat(800);
  const { captured } = await capture(Array.from({ length: 40 }, () => piece), new Kept());
  assert.deepEqual([captured.bytes, captured.characters, captured.isTruncated], [320_000, 320_000, true]);
  assert.equal(captured.tail, piece.repeat(2).slice(-12_000));
  const all = await capture(["é".repeat(12_000)], new Kept());
  assert.deepEqual([all.captured.bytes, all.captured.characters, all.captured.isTruncated], [
    24_000,
    12_000,
    false,
  ]);
  // Characters are put together from pieces, and never cut in half.
  const smile = encoder.encode("😀".repeat(6_001));
  const cut = await capture([smile.subarray(0, 7), smile.subarray(7)], new Kept());
  assert.equal(cut.captured.tail, "😀".repeat(6_000));
  assert.equal((await capture([new Uint8Array([0xff, 0x41])], new Kept())).captured.tail, "\ufffdA");
});

Deno.test("artifact is a file for its owner alone, under names that say nothing of session or store (DM-101, DM-102, B52)", async () => {
  await withFolder({}, async (folder) => {
    const artifacts = new ArtifactFolder(`${folder}/store.db`, digest);
    const { stdout, stderr } = await artifacts.open(session, "cmd_1");
    const { captured } = await capture(["whole output"], stdout);
    await capture([], stderr);
    const { artifact } = captured;
    assert.ok(artifact !== undefined);
    assert.match(artifact.root, /^out-[0-9a-f]{32}$/);
    assert.deepEqual([artifact.path, artifact.bytes, artifact.isCut], ["cmd_1/stdout.txt", 12, false]);
    const base = `${folder}/store.db.artifacts`;
    const at = `${base}/${artifact.root}/${artifact.path}`;
    assert.equal(await Deno.readTextFile(at), "whole output");
    assert.equal((await Deno.lstat(at)).mode! & 0o777, 0o600);
    for (const path of [base, `${base}/${artifact.root}`, `${base}/${artifact.root}/cmd_1`]) {
      assert.equal((await Deno.lstat(path)).mode! & 0o777, 0o700, path);
      assert.ok(!path.slice(folder.length).includes("ses_"));
    }
    // What was empty left no file; another session has another root, the same one the same.
    assert.deepEqual([...Deno.readDirSync(`${base}/${artifact.root}/cmd_1`)].map(({ name }) => name), [
      "stdout.txt",
    ]);
    const rootOf = async (one: string, name: string) => {
      const opened = await artifacts.open(one, name);
      const written = await capture(["x"], opened.stdout);
      await opened.stderr.close();
      return written.captured.artifact?.root;
    };
    assert.equal(await rootOf(session, "cmd_2"), artifact.root);
    assert.notEqual(await rootOf(`${session}2`, "cmd_1"), artifact.root);
    // Nothing that is there already is written to, wherever it leads.
    await assert.rejects(artifacts.open(session, "cmd_1"), Deno.errors.AlreadyExists);
  });
});

Deno.test("artifact folder that is a link is not followed (B52)", async () => {
  await withFolder({ "elsewhere/": "" }, async (folder) => {
    await Deno.symlink(`${folder}/elsewhere`, `${folder}/store.db.artifacts`);
    const artifacts = new ArtifactFolder(`${folder}/store.db`, digest);
    await assert.rejects(artifacts.open(session, "cmd_1"), Deno.errors.NotADirectory);
    assert.deepEqual([...Deno.readDirSync(`${folder}/elsewhere`)], []);
  });
});

Deno.test({
  name:
    "capture whose artifact cannot be written has failed, tells it once, and takes what comes on (DM-103, DM-138)",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    const full = new ArtifactFile(await Deno.open("/dev/full", { write: true }), {
      root: "out-x",
      path: "full",
    }, "");
    const { captured, failures } = await capture(["one ", "two ", "three"], full);
    assert.deepEqual([failures, captured.hasFailed, captured.artifact], [1, true, undefined]);
    assert.deepEqual([captured.tail, captured.bytes], ["one two three", 13]);
    const late: Artifact = { write: () => Promise.resolve(), close: () => Promise.reject(new Error("disk")) };
    const flushed = await capture(["one"], late);
    assert.deepEqual([flushed.failures, flushed.captured.hasFailed], [1, true]);
  },
});

Deno.test("artifact takes so much and no more, and says that it was cut", async () => {
  await withFolder({}, async (folder) => {
    const { stdout, stderr } = await new ArtifactFolder(`${folder}/store.db`, digest).open(session, "cmd_1");
    const piece = "é".repeat(limits.commandArtifactBytesMax / 8);
    for (let pieces = 0; pieces < 5; pieces++) await stdout.write(pieces === 0 ? `x${piece}` : piece);
    const kept = await stdout.close();
    await stderr.close();
    // The last whole character that fits.
    assert.deepEqual([kept?.bytes, kept?.isCut], [limits.commandArtifactBytesMax - 1, true]);
  });
});
