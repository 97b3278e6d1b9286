/** `troupe export --fixture` and `troupe verify` in real processes: sound, altered, cut and foreign fixtures. */
import assert from "node:assert/strict";
import { FixtureDivergedError, FixtureError, replayFixture } from "../../src/testing.ts";
import { alterFixture, renewManifest } from "../support/fixtures.ts";
import { assertRefused, filesWith, linesOf, onStage, readScript, type Stage, writeAgent } from "./troupe.ts";

async function makeFixture(stage: Stage, script = readScript): Promise<void> {
  await writeAgent(stage, script);
  await stage.output("run", "agent", "hi", "--workspace", "ws");
  await stage.output("export", "last", "--fixture", "-o", "fx");
}

/** Every file below a folder with its content, by name. */
async function contentOf(folder: string, below = ""): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(`${folder}/${below}`)) {
    const path = `${below}${name}`;
    if (isDirectory) found.push(...await contentOf(folder, `${path}/`));
    else found.push(`${path}\n${await Deno.readTextFile(`${folder}/${path}`)}`);
  }
  return found.sort();
}

/** The model asks for another file than the one that was called: somebody changed the recorded answer. */
async function alterAnswer(stage: Stage, folder = "fx"): Promise<void> {
  await alterFixture(stage.path(folder), "roots/session.jsonl", (line) => {
    const isAnswer = line["kind"] === "outcome" && line["type"] === "model.generate";
    return isAnswer ? JSON.parse(JSON.stringify(line).replace('"a.txt"', '"c.txt"')) : line;
  });
}

Deno.test("fixture has the same bytes each time, and no folder of its machine", async () => {
  await onStage(async (stage) => {
    // A result that names the workspace, where a machine keeps it, too.
    await stage.write({ "ws/where.txt": `it is ${stage.folder}/ws here\n` });
    await makeFixture(
      stage,
      "answers: [{ calls: [{ tool: read_file, arguments: { path: where.txt } }] }, { text: done }]\n",
    );
    await stage.output("export", "last", "--fixture", "-o", "again", "--json");
    assert.deepEqual(await contentOf(stage.path("again")), await contentOf(stage.path("fx")));
    assert.deepEqual(await filesWith(stage.path("fx"), [stage.folder]), []);
    const session = await Deno.readTextFile(stage.path("fx/roots/session.jsonl"));
    assert.match(session, /it is \/workspace here/);
    assert.match(session, /\\"path\\":\\"\/agent\\"/);
    const { placeholders, roots } = JSON.parse(await Deno.readTextFile(stage.path("fx/manifest.json")));
    assert.deepEqual(placeholders, ["/agent", "/workspace"]);
    assert.deepEqual(roots.map(({ kind }: { kind: string }) => kind), ["session", "catalog"]);
    assert.match(await Deno.readTextFile(stage.path("fx/agent.json")), /"name": "tester"/);
    await stage.output("export", "last", "--fixture", "-o", "plain", "--keep-paths");
    assert.notDeepEqual(await filesWith(stage.path("plain"), [stage.folder]), []);
    // The store, the agent and the workspace are not needed any more.
    for (const name of ["store.db", "agent", "ws"]) await Deno.remove(stage.path(name), { recursive: true });
    const shown = await stage.output("verify", "fx", "plain");
    assert.match(shown, /^✓ fx {2}2 streams, \d+ entries, 4 asks and [1-9]\d* states compared\n✓ plain/);
  });
});

Deno.test("fixture is written into no folder that holds something else", async () => {
  await onStage(async (stage) => {
    await makeFixture(stage);
    assertRefused(await stage.run("export", "last", "--fixture", "-o", "fx"), 2, "folder_not_empty");
    await stage.write({ "mine/roots/a.txt": "mine", "fx/mine.txt": "mine" });
    const taken = await stage.run("export", "last", "--fixture", "-o", "mine", "--force");
    assertRefused(taken, 2, "folder_not_empty", "no fixture is in it");
    assert.equal(await Deno.readTextFile(stage.path("mine/roots/a.txt")), "mine");
    await stage.output("export", "last", "--fixture", "-o", "fx", "--force");
    assert.equal(await Deno.readTextFile(stage.path("fx/mine.txt")), "mine");
    assertRefused(await stage.run("export", "last", "--fixture", "-o", "-"), 2, "option_invalid");
    const [{ address }] = linesOf(await stage.output("sessions", "--json")) as [{ address: string }];
    const catalog = address.replace("session", "catalog");
    assertRefused(await stage.run("export", catalog, "--fixture", "-o", "x"), 2, "option_invalid");
    await stage.output("verify", "fx");
  });
});

Deno.test("verify names entry, address, what was asked and recorded, and every field that differs", async () => {
  await onStage(async (stage) => {
    await makeFixture(stage);
    await alterAnswer(stage);
    const ended = await stage.run("verify", "fx", "--junit", "report.xml");
    assertRefused(ended, 1, "fixtures_diverged", "1 of 1 fixtures diverged: fx");
    const entry = linesOf(await Deno.readTextFile(stage.path("fx/roots/session.jsonl")))
      .find(({ kind, type }) => kind === "intent" && type === "tool.call");
    assert.match(ended.out, new RegExp(`"session/ses_[0-9A-Z]{26}" diverges at entry ${entry?.["seq"]}: `));
    assert.match(ended.out, /^ +asked {5}intent tool\.call read_file$/m);
    assert.match(ended.out, /^ +recorded {2}intent tool\.call read_file$/m);
    assert.match(ended.out, /^ +args\.arguments\.path: "a\.txt" -> "c\.txt"$/m);
    const report = await Deno.readTextFile(stage.path("report.xml"));
    assert.match(report, /<testsuites name="troupe verify" tests="2" failures="1" errors="0" /);
    assert.match(report, /<testcase classname="fx" name="catalog\/ses_[0-9A-Z]{26}"\/>/);
    assert.match(report, /<failure message="&quot;session\/ses_/);
    assert.match(report, /args\.arguments\.path: "a\.txt" -&gt; "c\.txt"<\/failure>/);
    const [session, catalog] = linesOf((await stage.run("verify", "fx", "--json")).out) as {
      divergence: { seq: number; differences: unknown } | null;
    }[];
    assert.equal(session?.divergence?.seq, entry?.["seq"]);
    const field = { path: "args.arguments.path", before: "a.txt", after: "c.txt" };
    assert.deepEqual(session?.divergence?.differences, [field]);
    assert.equal(catalog?.divergence, null);
  });
});

Deno.test("verify refuses a fixture that was altered, cut, reordered or lost a file, and names the file (B130)", async () => {
  await onStage(async (stage) => {
    await makeFixture(stage);
    const session = await Deno.readTextFile(stage.path("fx/roots/session.jsonl"));
    const lines = session.trimEnd().split("\n");
    const [{ name: blob }] = [...Deno.readDirSync(stage.path("fx/blobs"))] as [Deno.DirEntry];
    const cases: readonly (readonly [file: string, text: string | undefined, code: string])[] = [
      ["roots/session.jsonl", session.replaceAll("a.txt", "b.txt"), "fixture_altered"],
      ["roots/session.jsonl", `${lines.slice(0, 5).join("\n")}\n`, "fixture_truncated"],
      [
        "roots/session.jsonl",
        `${lines.with(2, lines[3]!).with(3, lines[2]!).join("\n")}\n`,
        "fixture_invalid",
      ],
      [
        "roots/session.jsonl",
        await Deno.readTextFile(stage.path("fx/roots/catalog.jsonl")),
        "fixture_altered",
      ],
      ["roots/session.jsonl", undefined, "fixture_incomplete"],
      ["roots/catalog.jsonl", undefined, "fixture_incomplete"],
      [`blobs/${blob}`, undefined, "fixture_incomplete"],
      [`blobs/${blob}`, "{}", "fixture_altered"],
      ["agent.json", "{}", "fixture_altered"],
      ["manifest.json", "no manifest", "fixture_invalid"],
      ["manifest.json", '{"troupe":"fixture","v":2}', "fixture_from_newer_version"],
      ["manifest.json", undefined, "fixture_not_found"],
    ];
    const sound = await contentOf(stage.path("fx"));
    for (const [index, [file, text]] of cases.entries()) {
      for (const one of sound) {
        const [name = "", ...rest] = one.split("\n");
        const written = name === file ? text : rest.join("\n");
        if (written !== undefined) await stage.write({ [`case${index}/${name}`]: written });
      }
    }
    const ended = await stage.run("verify", "fx", ...cases.map((_, index) => `case${index}`), "--json");
    assertRefused(ended, 3, "fixtures_unreadable", `${cases.length} of ${cases.length + 1} fixtures`);
    const errors = linesOf(ended.out).flatMap(({ error }) => error ?? []) as {
      code: string;
      message: string;
    }[];
    assert.deepEqual(errors.map(({ code }) => code), cases.map(([, , code]) => code));
    for (const [index, [file]] of cases.entries()) {
      assert.match(errors[index]?.message ?? "", new RegExp(`"case${index}[^]*${RegExp.escape(file)}`));
    }
    // A manifest that was sealed anew leads nowhere else, and cannot leave out what entries name.
    await renewManifest(stage.path("fx"), (manifest) => ({ ...manifest, blobs: [] }));
    const incomplete = await stage.run("verify", "fx", "--json");
    assertRefused(incomplete, 3, "fixtures_unreadable", /roots\/\w+\.jsonl: its entry \d+ names sha256:/);
    assert.equal(JSON.parse(incomplete.out).error.code, "fixture_incomplete");
  });
});

Deno.test("verify of several fixtures ends with the worst, and looks at all of them", async () => {
  await onStage(async (stage) => {
    await makeFixture(stage);
    await stage.output("export", "last", "--fixture", "-o", "other");
    await alterAnswer(stage, "other");
    const diverged = await stage.run("verify", "other", "fx/");
    assertRefused(diverged, 1, "fixtures_diverged");
    assert.match(diverged.out, /^✗ other [^]*^✓ fx /m);
    const missing = await stage.run("verify", "other", "gone", "fx", "--junit", "report.xml");
    assertRefused(missing, 3, "fixtures_unreadable", 'the first: Cannot use the fixture "gone"');
    assert.match(missing.out, /^✗ other [^]*^! gone {2}\[fixture_not_found\]\n✓ fx /m);
    const report = await Deno.readTextFile(stage.path("report.xml"));
    assert.match(report, /tests="5" failures="1" errors="1"/);
    assert.match(report, /<error type="fixture_not_found" message="Cannot use the fixture &quot;gone&quot;/);
    assertRefused(await stage.run("verify"), 2, "argument_missing");
  });
});

Deno.test("verify says what other code recorded, and fails only where something else is asked (K21)", async () => {
  await onStage(async (stage) => {
    await makeFixture(stage);
    await stage.output("export", "last", "--fixture", "-o", "other");
    const code = `sha256:${"c".repeat(64)}`;
    for (const folder of ["fx", "other"]) {
      for (const file of ["roots/session.jsonl", "roots/catalog.jsonl"]) {
        // Machines of another release keep their states otherwise.
        await alterFixture(stage.path(folder), file, (line) => {
          const { state, body } = line;
          if ("troupe" in line) return { ...line, code };
          const other = line["kind"] === "created" ? { body: { ...body as object, code } } : {};
          return { ...line, ...other, ...(state === undefined ? {} : { state: `sha256:${"d".repeat(64)}` }) };
        });
      }
      await renewManifest(stage.path(folder), (manifest) => ({
        ...manifest,
        release: "0.0.9",
        roots: manifest.roots.map((root) => ({ ...root, codes: [code] })),
      }));
    }
    const same = await stage.output("verify", "fx");
    assert.match(same, /^✓ fx [^]*recorded by other code \(release 0\.0\.9\): .*, [1-9]\d* states differ$/m);
    await alterAnswer(stage, "other");
    const ended = await stage.run("verify", "other");
    assertRefused(ended, 1, "fixtures_diverged");
    assert.match(ended.out, /recorded by other code[^]*args\.arguments\.path: "a\.txt" -> "c\.txt"/);
  });
});

Deno.test("replayability stands in the tool's definition and in the trace, and verify compares it (AR-30)", async () => {
  await onStage(async (stage) => {
    await makeFixture(stage);
    const [{ name: blob }] = [...Deno.readDirSync(stage.path("fx/blobs"))] as [Deno.DirEntry];
    const { entries } = JSON.parse(await Deno.readTextFile(stage.path(`fx/blobs/${blob}`)));
    const tool = entries.find(({ canonicalName }: { canonicalName: string }) =>
      canonicalName === "read_file"
    );
    assert.equal(tool.definition.effectClass, "idempotent");
    await alterFixture(stage.path("fx"), "roots/session.jsonl", (line) => {
      const isCall = line["kind"] === "intent" && line["type"] === "tool.call";
      return isCall ? { ...line, body: { ...line["body"] as object, effect: "non_idempotent" } } : line;
    });
    const ended = await stage.run("verify", "fx");
    assertRefused(ended, 1, "fixtures_diverged");
    assert.match(ended.out, /^ +effect: "non_idempotent" -> "idempotent"$/m);
  });
});

Deno.test("replayFixture gives a test what was compared, or fails with every difference", async () => {
  await onStage(async (stage) => {
    await makeFixture(stage);
    const { roots } = await replayFixture(stage.path("fx/"));
    assert.deepEqual(roots.map(({ report }) => report.intents), [3, 1]);
    assert.deepEqual((await replayFixture(new URL(`file://${stage.path("fx")}`))).roots.length, 2);
    await alterAnswer(stage);
    await assert.rejects(replayFixture(stage.path("fx")), (error) => {
      assert.ok(error instanceof FixtureDivergedError);
      assert.match(error.message, /diverges at entry \d+: [^]*args\.arguments\.path: "a\.txt" -> "c\.txt"/);
      assert.equal(error.replay.roots.filter(({ report }) => report.divergence !== undefined).length, 1);
      return true;
    });
    await Deno.remove(stage.path("fx/agent.json"));
    await assert.rejects(
      replayFixture(stage.path("fx")),
      (error) => error instanceof FixtureError && error.code === "fixture_incomplete",
    );
  });
});
