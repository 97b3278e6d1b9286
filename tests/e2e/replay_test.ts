/** `troupe export`, `replay` and `doctor` in real processes, on sound and on damaged data. */
import assert from "node:assert/strict";
import type { Entry } from "../../schemas/entry.ts";
import { sealOf } from "../../src/export/export_format.ts";
import { assertRefused, linesOf, onStage, readScript, type Stage, writeAgent } from "./troupe.ts";

async function record(stage: Stage, prompt = "hi"): Promise<void> {
  await writeAgent(stage, readScript);
  await stage.output("run", "agent", prompt, "--workspace", "ws");
}

/** Seals a file's lines anew, as somebody does who knows the format. */
async function sealAgain(lines: readonly string[]): Promise<string> {
  const digest = async (bytes: Uint8Array) => {
    const hash = await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>);
    return `sha256:${new Uint8Array(hash).toHex()}`;
  };
  let seal = `sha256:${"0".repeat(64)}`;
  let open: string[] = [];
  const out: string[] = [];
  for (const line of lines) {
    const value = JSON.parse(line);
    if (!("seal" in value)) {
      open.push(line);
      out.push(line);
      continue;
    }
    seal = await sealOf(seal, value.end === undefined ? open : [...open, JSON.stringify(value.end)], digest);
    open = [];
    out.push(JSON.stringify({ ...value, seal }));
  }
  return `${out.join("\n")}\n`;
}

Deno.test("replay of a session and of its export compare the same, and find no divergence", async () => {
  await onStage(async (stage) => {
    await record(stage);
    assert.match(
      await stage.output("export", "last", "-o", "s.jsonl"),
      /^Wrote \d+ entries and 1 catalog of/,
    );
    // One line for each root: the session first, then its catalog.
    const lines = (await stage.output("replay", "last", "--json", "--strict")).trimEnd().split("\n");
    const [stored, catalog] = lines.map((line) => JSON.parse(line));
    assert.deepEqual([lines.length, catalog.divergence], [2, null]);
    assert.match(catalog.address, /^catalog\//);
    await Deno.remove(stage.path("store.db")); // The file is enough.
    const exported = JSON.parse(await stage.output("replay", "s.jsonl", "--json", "--strict"));
    const { durationMs: _one, ...left } = stored;
    const { durationMs: _other, ...right } = exported;
    assert.deepEqual(left, right);
    assert.deepEqual([left.intents, left.skipped, left.divergence], [3, 0, null]);
    assert.ok(left.states >= 2);
    assert.match(await stage.output("replay", "s.jsonl"), /entries {4}\d+ in .*, [\d,]+ a second/);
    assert.equal((await Deno.stat(stage.path("s.jsonl"))).mode! & 0o777, 0o600);
  });
});

Deno.test("replay stops at an entry and shows where the machines are then, as text and as JSON", async () => {
  await onStage(async (stage) => {
    await record(stage);
    const entries = linesOf(await stage.output("log", "last", "--json")) as unknown as Entry[];
    const call = entries.find(({ kind, type }) => kind === "intent" && type === "tool.call")!;
    // In the middle of what one message caused: it comes with all of it.
    const args = ["replay", "last", "--until", String(call.seq), "--state"];
    const last = entries.findLast(({ cause }) => cause === call.cause)!;
    const shown = await stage.output(...args);
    assert.match(shown, new RegExp(`^  entries +${last.seq} in `, "m"));
    assert.match(shown, new RegExp(`^  state +at entry ${last.seq}\\n    session/ses_\\w+: running\\n`, "m"));
    assert.match(shown, /^ {6}turn\/1: staging, step 0$/m);
    assert.match(shown, /^ {8}call\/0\.0, invocation: running, read_file \{"path":"a\.txt"\}, attempt 1$/m);
    assert.match(shown, new RegExp(`^ {10}effect waits for tool\\.call ${call.cause}\\.0, idempotent$`, "m"));
    assert.doesNotMatch(shown, /catalog\//);
    const { state, divergence } = JSON.parse(await stage.output(...args, "--json"));
    assert.deepEqual([state.seq, divergence], [last.seq, null]);
    const [turn] = state.root.machines;
    const [port] = turn.machines[0].ports;
    assert.deepEqual([turn.id, turn.state, turn.context.step], ["turn/1", "staging", 0]);
    assert.deepEqual([port.port, port.intent, port.effect], ["tool.call", `${call.cause}.0`, "idempotent"]);
    // At the end nothing waits, in the session and in what serves it.
    assert.match(
      await stage.output("replay", "last", "--state"),
      /session\/ses_\w+: idle\n.*\n.*\n {4}catalog\/ses_\w+: ready/,
    );
    await stage.output("export", "last", "-o", "s.jsonl");
    assert.equal(
      (await stage.output("replay", "s.jsonl", ...args.slice(2))).split("\n").slice(6).join(),
      shown.split("\n").slice(6).join(),
    );
    await stage.output("export", "last", "--fixture", "-o", "fx");
    assert.match(await stage.output("replay", "./fx/"), /no divergence\ncatalog\/ses_\w+: \d+ entries/);
    const { state: ofFixture } = JSON.parse(await stage.output("replay", "./fx", "--json", ...args.slice(2)));
    assert.deepEqual(ofFixture.root.machines[0].ports, state.root.machines[0].ports);
    const beyond = await stage.run("replay", "last", "--until", String(entries.length + 1));
    assertRefused(beyond, 2, "entry_not_found", `its last one is ${entries.length}`);
  });
});

Deno.test("export does not replace a file unless it is told to", async () => {
  await onStage(async (stage) => {
    await record(stage);
    await stage.write({ "s.jsonl": "mine" });
    assertRefused(await stage.run("export", "last", "-o", "s.jsonl"), 2, "file_exists");
    assert.equal(await Deno.readTextFile(stage.path("s.jsonl")), "mine");
    await stage.output("export", "last", "-o", "s.jsonl", "--force");
    const piped = await stage.run("export", "last", "-o", "-");
    assert.equal(piped.out, await Deno.readTextFile(stage.path("s.jsonl")));
    assertRefused(await stage.run("export", "last", "-o", "no/such/folder.jsonl"), 2, "file_unwritable");
  });
});

Deno.test("replay refuses an export that was altered or cut (B130)", async () => {
  await onStage(async (stage) => {
    await record(stage);
    await stage.output("export", "last", "-o", "s.jsonl");
    const text = await Deno.readTextFile(stage.path("s.jsonl"));
    await stage.write({
      "altered.jsonl": text.replace("a.txt", "b.txt"),
      "cut.jsonl": text.split("\n").slice(0, 7).join("\n"),
      "none.jsonl": "no export\n",
      "newer.jsonl": text.replace('"v":1', '"v":2'),
    });
    assertRefused(
      await stage.run("replay", "altered.jsonl"),
      3,
      "export_altered",
      /lines 1 to \d+ were altered/,
    );
    assertRefused(await stage.run("replay", "cut.jsonl"), 3, "export_truncated");
    assertRefused(await stage.run("replay", "none.jsonl"), 3, "export_invalid");
    assertRefused(await stage.run("replay", "newer.jsonl"), 6, "export_from_newer_version");
    assertRefused(await stage.run("replay", "gone.jsonl"), 2, "file_not_found");
  });
});

Deno.test("replay names address, entry, what was expected and what came where an outcome was altered (B130)", async () => {
  await onStage(async (stage) => {
    await record(stage);
    await stage.output("export", "last", "-o", "s.jsonl");
    const lines = (await Deno.readTextFile(stage.path("s.jsonl"))).trimEnd().split("\n");
    // The model now asked for another file; what was called is still recorded as it was.
    const altered = lines.map((line) => {
      const { kind, type } = JSON.parse(line);
      return kind === "outcome" && type === "model.generate" ? line.replace("a.txt", "c.txt") : line;
    });
    await stage.write({ "s2.jsonl": await sealAgain(altered) });
    const ended = await stage.run("replay", "s2.jsonl");
    const seq = lines.map((line) =>
      JSON.parse(line)
    ).find(({ kind, type }) => kind === "intent" && type === "tool.call").seq;
    assertRefused(
      ended,
      1,
      "replay_diverged",
      /^troupe: "session\/ses_[0-9A-Z]{26}" diverges at entry/,
      `diverges at entry ${seq}: the machine's intent is the recorded one`,
      'expected at body.args.arguments.path "a.txt", got "c.txt"',
    );
    assert.match(ended.out, new RegExp(`diverged at entry ${seq}`));
    const json = await stage.run("replay", "s2.jsonl", "--json");
    assert.deepEqual([json.code, JSON.parse(json.out).divergence.seq], [1, seq]);
  });
});

Deno.test("replay, log, export and doctor name the range of entries in which a bit was flipped", async () => {
  await onStage(async (stage) => {
    await record(stage, "marker-in-the-journal");
    const path = stage.path("store.db");
    const bytes = await Deno.readFile(path);
    const text = new TextDecoder("latin1").decode(bytes);
    // SQLite may have moved the page: then its old place still has the text.
    const places = [...text.matchAll(/marker-in-the-journal/g)].map(({ index }) => index);
    assert.ok(places.length > 0);
    for (const at of places) bytes[at + 3] = (bytes[at + 3] ?? 0) ^ 1;
    await Deno.writeFile(path, bytes);
    const range = /session\/ses_[0-9A-Z]{26} (at )?entr(y|ies) \d+/;
    for (
      const args of [["replay", "last"], ["log", "last"], ["export", "last", "-o", "x.jsonl"], ["doctor"]]
    ) {
      assertRefused(await stage.run(...args), 3, "journal_corrupt", range);
    }
    const doctor = await stage.run("doctor", "--json");
    const { findings } = JSON.parse(doctor.out);
    const damaged = findings.filter((finding: { code: string }) => finding.code === "value_damaged");
    assert.equal(damaged.length, 1);
    assert.ok(damaged[0].first >= 1 && damaged[0].last >= damaged[0].first);
    const salvaged = await stage.run("doctor", "--salvage", "saved.db");
    assertRefused(salvaged, 3, "journal_corrupt");
    assert.match(salvaged.out, /salvaged \d+ entries of 3 streams into saved\.db/);
    assert.match(salvaged.out, /session\/ses_\w+ lost its entries \d+ to \d+: .*nothing of it repeated/);
    assertRefused(
      await stage.run("doctor", "--salvage", "saved.db"),
      2,
      "store_unusable",
      "nothing is overwritten",
    );
    assert.match(await stage.output("doctor", "--store", "saved.db"), /nothing is wrong/);
  });
});

Deno.test("store of a newer version is left alone by every command (B127)", async () => {
  await onStage(async (stage) => {
    await record(stage);
    const kv = await Deno.openKv(stage.path("store.db"));
    await kv.set(["meta", "store"], { format: 2, minReader: 2, createdAt: 0 });
    kv.close();
    const before = await Deno.readFile(stage.path("store.db"));
    for (
      const args of [
        ["run", "agent", "hi", "--workspace", "ws"],
        ["log", "last"],
        ["replay", "last"],
        [
          "sessions",
        ],
        ["fork", "last", "--at", "1"],
        ["doctor"],
      ]
    ) {
      assertRefused(await stage.run(...args), 6, "store_from_newer_version");
    }
    assert.deepEqual(await Deno.readFile(stage.path("store.db")), before);
  });
});

Deno.test("store that is missing, empty, a text or a folder is refused and never made into one (B133)", async () => {
  await onStage(async (stage) => {
    await stage.write({ "text.db": "my notes\n", "empty.db": "", "folder/x": "" });
    assertRefused(await stage.run("sessions", "--store", "missing.db"), 2, "store_not_found");
    for (const name of ["text.db", "empty.db", "folder"]) {
      assertRefused(await stage.run("sessions", "--store", name), 2, "store_unusable");
    }
    assert.equal(await Deno.readTextFile(stage.path("text.db")), "my notes\n");
    assert.deepEqual(
      [...Deno.readDirSync(stage.folder)].filter(({ name }) => name.startsWith("missing")),
      [],
    );
  });
});
