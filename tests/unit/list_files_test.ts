// Proves DM-16 for list_files: sorted, bounded, only what is in the workspace.
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { listFiles } from "../../src/tools/list_files.ts";
import { textIn, useIn, withFolder, workspaceAt } from "../support/tools.ts";

async function list(folder: string, input: { readonly [key: string]: unknown } = {}): Promise<string> {
  return textIn(await listFiles.handler(input, useIn(await workspaceAt(folder))));
}

const tree = {
  "b.txt": "",
  "a/y.txt": "",
  "a/x/deep.txt": "",
  ".git/HEAD": "",
  "node_modules/m/i.js": "",
  "none/": "",
};

Deno.test("list_files lists one level, sorted, folders with a slash", async () => {
  await withFolder(tree, async (folder) => {
    assert.equal(await list(folder), ".git/\na/\nb.txt\nnode_modules/\nnone/");
    assert.equal(await list(folder, { path: "a" }), "a/x/\na/y.txt");
    assert.equal(await list(folder, { path: "none" }), "[the folder is empty]");
  });
});

Deno.test("list_files goes as deep as it is asked to, but not into .git and node_modules", async () => {
  await withFolder(tree, async (folder) => {
    assert.equal(
      await list(folder, { depth: 3 }),
      ".git/\na/\na/x/\na/x/deep.txt\na/y.txt\nb.txt\nnode_modules/\nnone/",
    );
    assert.equal(await list(folder, { path: "./a/", depth: 2 }), "a/x/\na/x/deep.txt\na/y.txt");
  });
});

Deno.test("list_files names links and does not follow them", async () => {
  await withFolder({ "ws/a.txt": "", "out/SECRET": "" }, async (folder) => {
    await Deno.symlink("../out", `${folder}/ws/out`);
    await Deno.symlink(".", `${folder}/ws/self`);
    assert.equal(await list(`${folder}/ws`, { depth: 16 }), "a.txt\nout (link)\nself (link)");
    assert.equal(await list(`${folder}/ws`, { path: "out" }), "path_outside_root");
  });
});

Deno.test("list_files stops at its bound and says so", async () => {
  const many = Object.fromEntries(
    Array.from({ length: limits.listEntriesMax + 1 }, (_, index) => [`f${index}`, ""]),
  );
  await withFolder(many, async (folder) => {
    const lines = (await list(folder)).split("\n");
    assert.equal(lines.length, limits.listEntriesMax + 1);
    assert.match(lines.at(-1) ?? "", /^\[cut: 500 names shown/);
    await Deno.remove(`${folder}/f0`);
    assert.equal((await list(folder)).split("\n").length, limits.listEntriesMax);
  });
});

Deno.test("list_files shows names that would act on a terminal as escapes (B121)", async () => {
  await withFolder({ "a\u001b[2Jb": "" }, async (folder) => {
    assert.equal(await list(folder), "a\\u{1b}[2Jb");
  });
});

Deno.test("list_files refuses a file and what is not there", async () => {
  await withFolder({ "f": "" }, async (folder) => {
    assert.equal(await list(folder, { path: "f" }), "path_not_folder");
    assert.equal(await list(folder, { path: "g" }), "path_not_found");
    assert.equal(await list(folder, { depth: 0 }), "arguments_invalid");
  });
});
