// Proves B56 for writes: a part of the path is swapped for a link that leads outside, all the time.
import assert from "node:assert/strict";
import type { Workspace } from "../../src/tools/workspace.ts";
import { withFolder, workspaceAt } from "../support/tools.ts";
import { createRandom } from "../support/world.ts";

const swapsMin = 10_000;

/** Swaps `ws/sub`, a folder, for a link that leads outside, and back. */
async function swapOnce(folder: string, pause: () => Promise<void>): Promise<void> {
  const out = `${folder}/out`;
  await Deno.rename(`${folder}/ws/sub`, `${folder}/ws/away`);
  await insist(folder, () => Deno.symlink(out, `${folder}/ws/sub`));
  await pause();
  await Deno.remove(`${folder}/ws/sub`);
  await insist(folder, () => Deno.rename(`${folder}/ws/away`, `${folder}/ws/sub`));
  await pause();
}

/** While nothing is at its place, a write may make the folder anew, as it should: that one is taken away. */
async function insist(folder: string, take: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await take();
    } catch {
      await Deno.remove(`${folder}/ws/sub`, { recursive: true }).catch(() => {});
    }
  }
}

async function write(workspace: Workspace, path: string, text: string): Promise<string> {
  const written = await workspace.changeText(path, () => ({ ok: true, value: text }));
  return written.ok ? "written" : written.failure.code;
}

Deno.test("workspace never writes outside while a part of the path is swapped for a link, 10,000 times (B56)", async () => {
  await withFolder({ "ws/sub/name": "0", "out/name": "kept" }, async (folder) => {
    const workspace = await workspaceAt(`${folder}/ws`);
    const random = createRandom(11);
    const pause = async () => {
      for (let left = random() * 4; left > 1; left--) await Deno.lstat(folder);
    };
    let swaps = 0;
    let isRunning = true;
    const seen = new Map<string, number>();
    const writing = (async () => {
      for (let turn = 0; isRunning; turn++) {
        const path = turn % 3 === 0 ? `sub/new-${turn % 7}` : turn % 3 === 1 ? "sub/name" : "sub/deep/name";
        const what = await write(workspace, path, `${turn}`);
        seen.set(what, (seen.get(what) ?? 0) + 1);
      }
    })();
    for (; swaps < swapsMin; swaps++) await swapOnce(folder, pause);
    isRunning = false;
    await writing;
    assert.deepEqual(
      [...Deno.readDirSync(`${folder}/out`)].map(({ name }) => name),
      ["name"],
      "a write went outside",
    );
    assert.equal(await Deno.readTextFile(`${folder}/out/name`), "kept");
    assert.ok((seen.get("written") ?? 0) > 0, `the race let no write through: ${JSON.stringify([...seen])}`);
    assert.ok(
      (seen.get("path_outside_root") ?? 0) > 0,
      `the race never led outside: ${JSON.stringify([...seen])}`,
    );
  });
});

Deno.test("workspace loses no change of somebody else's that comes between its read and its write", async () => {
  await withFolder({ "f": "0" }, async (folder) => {
    const workspace = await workspaceAt(folder);
    let asks = 0;
    const written = await workspace.changeText("f", (before) => {
      // Between the read and the write, once.
      if (asks++ === 0) Deno.writeTextFileSync(`${folder}/f`, "theirs");
      return { ok: true, value: `${before}+ours` };
    });
    assert.ok(written.ok);
    assert.equal(await Deno.readTextFile(`${folder}/f`), "theirs+ours");
    const never = await workspace.changeText("f", (before) => {
      Deno.writeTextFileSync(`${folder}/f`, `${before}!`);
      return { ok: true, value: "ours" };
    });
    assert.equal(never.ok ? "" : never.failure.code, "file_not_written");
    assert.match(await Deno.readTextFile(`${folder}/f`), /^theirs\+ours!+$/);
    assert.deepEqual(
      [...Deno.readDirSync(folder)].map(({ name }) => name),
      ["f"],
      "something was left behind",
    );
  });
});
