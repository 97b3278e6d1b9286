/** `troupe doctor` in real processes: beside a process that runs the store, after one that died, and its copies. */
import assert from "node:assert/strict";
import { createMark, markText, ownerVariable } from "../../src/processes/owner_mark.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { askPolicy, assertRefused, linesOf, onStage, readScript, type Stage, writeAgent } from "./troupe.ts";

async function startOwner(stage: Stage) {
  await writeAgent(stage, readScript);
  await stage.write(askPolicy);
  const owner = stage.start("run", "agent", "go", "--workspace", "ws", "--answer", "wait");
  await owner.until("A question waits");
  return owner;
}

interface Told {
  readonly findings: readonly { readonly code: string; readonly message: string }[];
  readonly surroundings: { readonly owner: { readonly pid: number; readonly isAlive: boolean } | null };
}

async function diagnosed(stage: Stage, exit: number): Promise<Told> {
  const { code, out, err } = await stage.run("doctor", "--json");
  assert.equal(code, exit, `${out}\n${err}`);
  return JSON.parse(out);
}

async function modeOf(path: string): Promise<string> {
  return (((await Deno.stat(path)).mode ?? 0) & 0o777).toString(8);
}

Deno.test("doctor looks at a store and backs it up beside its owner, and a runtime goes on from the copy in the next epoch", async () => {
  await onStage(async (stage) => {
    const owner = await startOwner(stage);
    const beside = await diagnosed(stage, 0);
    assert.deepEqual(beside.findings, []);
    assert.equal(beside.surroundings.owner?.pid, owner.pid);
    const made = await stage.output("doctor", "--backup", "copy.db");
    assert.match(made, /^backed up \d+ bytes into copy\.db\nchecked 3 streams: [^]*nothing is wrong/);
    assert.equal(await modeOf(stage.path("copy.db")), "600");
    assertRefused(
      await stage.run("doctor", "--backup", "copy.db"),
      2,
      "store_unusable",
      "nothing is overwritten",
    );
    assertRefused(
      await stage.run("doctor", "--salvage", "new.db"),
      4,
      "store_in_use",
      `process ${owner.pid}`,
    );
    owner.signal("SIGKILL");
    await owner.ended;
    const before = await Deno.readFile(stage.path("store.db"));
    // The call that waited for a person in the copy goes on there, and nowhere else.
    await stage.output(
      "run",
      "agent",
      "again",
      "--workspace",
      "ws",
      "--answer",
      "allow",
      "--store",
      "copy.db",
    );
    const epochs = linesOf(await stage.output("log", "last", "--json", "--store", "copy.db")).map((
      { epoch },
    ) => epoch);
    assert.deepEqual([...new Set(epochs)], [2]);
    assert.match(await stage.output("doctor", "--store", "copy.db"), /nothing is wrong/);
    assert.deepEqual(await Deno.readFile(stage.path("store.db")), before);
  });
});

Deno.test("doctor tells of an owner that died, of what it left running, and of a file that others can read; it changes none of it", async () => {
  await onStage(async (stage) => {
    const owner = await startOwner(stage);
    owner.signal("SIGKILL");
    await owner.ended;
    const { digest } = createSystemSeams({ log: () => {} });
    const mark = markText(await createMark(stage.path("store.db"), "run_before", digest));
    const left = new Deno.Command("sleep", { args: ["60"], env: { [ownerVariable]: mark } }).spawn();
    try {
      const { findings, surroundings } = await diagnosed(stage, 0);
      assert.deepEqual(findings.map(({ code }) => code).sort(), ["owner_gone", "process_left"]);
      assert.match(
        findings.find(({ code }) => code === "process_left")?.message ?? "",
        new RegExp(`: ${left.pid}$`),
      );
      assert.deepEqual([surroundings.owner?.pid, surroundings.owner?.isAlive], [owner.pid, false]);
      await Deno.chmod(stage.path("store.db"), 0o644);
      const looked = await stage.run("doctor");
      assertRefused(looked, 1, "store_needs_attention", "file_mode");
      assert.match(looked.out, /file_mode {2}file: Its mode is 644; others can read it: chmod 600/);
      assert.equal(await modeOf(stage.path("store.db")), "644");
      assert.doesNotThrow(() => Deno.kill(left.pid, "SIGCONT"), "it still runs");
    } finally {
      left.kill("SIGKILL");
      await left.status;
    }
  });
});

Deno.test("doctor sweeps a store that nobody runs, and says what it freed and what waits (R12)", async () => {
  await onStage(async (stage) => {
    const owner = await startOwner(stage);
    assertRefused(await stage.run("doctor", "--sweep"), 4, "store_in_use", `process ${owner.pid}`);
    assertRefused(await stage.run("doctor", "--sweep", "--backup", "copy.db"), 2, "options_conflict");
    owner.signal("SIGKILL");
    await owner.ended;
    const digest = `sha256:${"5".repeat(64)}`;
    const kv = await Deno.openKv(stage.path("store.db"));
    await kv.set(["blob", digest], new Uint8Array(500));
    kv.close();
    assert.match(
      await stage.output("doctor", "--sweep"),
      /swept 0 blobs of 0 bytes .*; 1 more are swept once/,
    );
    const again = await Deno.openKv(stage.path("store.db"));
    const seen = await again.get<{ since: number }>(["orphan", digest]);
    await again.set(["orphan", digest], { ...seen.value, since: (seen.value?.since ?? 0) - 24 * 3_600_000 });
    again.close();
    const swept = linesOf(await stage.output("doctor", "--sweep", "--json"))[0];
    assert.deepEqual(swept?.["swept"], { freed: 1, bytes: 500, waiting: 0 });
    assert.deepEqual((await diagnosed(stage, 0)).findings, []);
  });
});

Deno.test("doctor looks at the installation before there is a store, and at the servers of an agent", async () => {
  await onStage(async (stage) => {
    const fresh = await stage.run("doctor");
    assert.equal(fresh.code, 0, fresh.err);
    assert.match(
      fresh.out,
      /✓ program +troupe .*\n[^]*✓ store folder [^]*There is no store yet: the first run makes/,
    );
    await assert.rejects(Deno.stat(stage.path("store.db")));
    assertRefused(await stage.run("doctor", "--store", "gone.db"), 2, "store_not_found", "gone.db");
    await stage.output("init", "./my-agent");
    assert.match(await stage.output("doctor", "./my-agent"), /✓ server files +troupe-files offers 2 tools/);
    const manifest = stage.path("my-agent/mcp/files.yaml");
    await Deno.writeTextFile(
      manifest,
      (await Deno.readTextFile(manifest)).replace("third_party", "untrusted"),
    );
    // What it starts is another command now, which nobody has trusted.
    const text = await Deno.readTextFile(manifest);
    await Deno.writeTextFile(manifest, text.replace(/^args: .*$/m, "args: [mcp-server, files, --root, mcp]"));
    const changed = await stage.run("doctor", "./my-agent");
    assertRefused(changed, 1, "installation_needs_attention", "server files");
    assert.match(
      changed.out,
      /✗ server files +it is not trusted, so it is not started: troupe mcp trust files/,
    );
    const { installation, store } = JSON.parse(await stage.output("doctor", "--json"));
    assert.equal(store, null);
    assert.ok(installation.every(({ isWell }: { readonly isWell: boolean }) => isWell));
  });
});
