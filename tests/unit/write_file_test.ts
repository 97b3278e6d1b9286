/** `write_file` and `patch`: whole or not at all, inside or not at all. */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { patch } from "../../src/tools/patch.ts";
import type { BuiltinTool } from "../../src/tools/tool.ts";
import { writeFile } from "../../src/tools/write_file.ts";
import { textIn, useIn, withFolder, workspaceAt } from "../support/tools.ts";

type Input = { readonly [key: string]: unknown };

async function call(tool: BuiltinTool, folder: string, input: Input): Promise<string> {
  return textIn(await tool.handler(input, useIn(await workspaceAt(folder))));
}

/** The files below a folder, by path. */
async function treeOf(folder: string): Promise<{ readonly [path: string]: string }> {
  const tree: { [path: string]: string } = {};
  for await (const { name, isDirectory, isSymlink } of Deno.readDir(folder)) {
    if (isSymlink) tree[name] = `-> ${await Deno.readLink(`${folder}/${name}`)}`;
    else if (!isDirectory) tree[name] = await Deno.readTextFile(`${folder}/${name}`);
    else {
      for (const [path, text] of Object.entries(await treeOf(`${folder}/${name}`))) {
        tree[`${name}/${path}`] = text;
      }
    }
  }
  return tree;
}

Deno.test("write_file makes a file with the folders on the way, replaces one, and leaves nothing else (DM-16)", async () => {
  await withFolder({ "old.txt": "old" }, async (folder) => {
    assert.equal(
      await call(writeFile, folder, { path: "a/b/new.txt", content: "one\n" }),
      'Created "a/b/new.txt": 4 bytes',
    );
    assert.equal(
      await call(writeFile, folder, { path: "./a/../old.txt", content: "ü" }),
      'Replaced "./a/../old.txt": 2 bytes',
    );
    assert.equal(await call(writeFile, folder, { path: "empty", content: "" }), 'Created "empty": 0 bytes');
    assert.deepEqual(await treeOf(folder), { "a/b/new.txt": "one\n", "old.txt": "ü", "empty": "" });
  });
});

Deno.test("write_file creates or replaces only what is asked for", async () => {
  await withFolder({ "here": "old" }, async (folder) => {
    assert.equal(
      await call(writeFile, folder, { path: "here", content: "x", mode: "create" }),
      "file_not_written",
    );
    assert.equal(
      await call(writeFile, folder, { path: "gone", content: "x", mode: "replace" }),
      "path_not_found",
    );
    assert.deepEqual(await treeOf(folder), { "here": "old" });
    assert.match(await call(writeFile, folder, { path: "gone", content: "x", mode: "create" }), /^Created/);
    assert.match(await call(writeFile, folder, { path: "here", content: "y", mode: "replace" }), /^Replaced/);
  });
});

Deno.test({
  name: "write_file keeps the rights of a file that it replaces",
  ignore: Deno.build.os === "windows",
  async fn() {
    await withFolder({ "run.sh": "old" }, async (folder) => {
      await Deno.chmod(`${folder}/run.sh`, 0o750);
      await call(writeFile, folder, { path: "run.sh", content: "new" });
      await call(writeFile, folder, { path: "new.txt", content: "new" });
      assert.equal(((await Deno.stat(`${folder}/run.sh`)).mode ?? 0) & 0o777, 0o750);
      assert.equal(((await Deno.stat(`${folder}/new.txt`)).mode ?? 0) & 0o777, 0o644);
    });
  },
});

Deno.test("write_file writes nothing outside, by whatever path or link (B54, B55, B57)", async () => {
  await withFolder({ "ws/in/": "", "ws-evil/": "", "out/kept": "kept" }, async (folder) => {
    await Deno.symlink(`${folder}/out`, `${folder}/ws/folder`);
    await Deno.symlink(`${folder}/out/kept`, `${folder}/ws/file`);
    await Deno.symlink(`${folder}/out/new`, `${folder}/ws/dangling`);
    await Deno.symlink("dangling", `${folder}/ws/chain`);
    await Deno.symlink(`${folder}/gone`, `${folder}/ws/nowhere`);
    await Deno.symlink("in/missing", `${folder}/ws/inner`);
    const refusals: { readonly [path: string]: string } = {
      "../out/new": "path_outside_root",
      "../ws-evil/new": "path_outside_root",
      "in/../../out/new": "path_outside_root",
      "/etc/troupe-test": "path_outside_root",
      "folder/new": "path_outside_root",
      "folder/deep/new": "path_outside_root",
      "file": "path_outside_root",
      "dangling": "path_outside_root",
      "chain": "path_outside_root",
      "nowhere/new": "path_outside_root",
      "inner": "path_not_found",
      "in": "path_not_file",
      ".": "path_not_file",
      "a\0b": "path_invalid",
      ["a/".repeat(300)]: "path_invalid",
    };
    const before = await treeOf(folder);
    for (const [path, code] of Object.entries(refusals)) {
      assert.equal(await call(writeFile, `${folder}/ws`, { path, content: "x" }), code, path);
      if (code !== "path_not_file") {
        assert.equal(
          await call(patch, `${folder}/ws`, { path, edits: [{ old: "kept", new: "x" }] }),
          code,
          path,
        );
      }
    }
    assert.deepEqual(await treeOf(folder), before);
  });
});

Deno.test("write_file follows a link that leads to a file inside, and leaves the link", async () => {
  await withFolder({ "in/real": "old" }, async (folder) => {
    await Deno.symlink("in/real", `${folder}/link`);
    assert.match(await call(writeFile, folder, { path: "link", content: "new" }), /^Replaced/);
    assert.deepEqual(await treeOf(folder), { "in/real": "new", "link": "-> in/real" });
  });
});

Deno.test("write_file never writes into a file that has another name outside (B59)", async () => {
  await withFolder({ "ws/": "", "out/kept": "kept" }, async (folder) => {
    await Deno.link(`${folder}/out/kept`, `${folder}/ws/twin`);
    assert.match(await call(writeFile, `${folder}/ws`, { path: "twin", content: "new" }), /^Replaced/);
    assert.deepEqual(await treeOf(folder), { "ws/twin": "new", "out/kept": "kept" });
  });
});

Deno.test("write_file refuses what tells other programs what to do, there or not (B60)", async () => {
  const places = [
    ".git/hooks/pre-commit",
    ".git/config",
    "sub/.GIT/hooks/x",
    ".husky/pre-push",
    ".envrc",
    "troupe.yaml",
    "agent.yaml",
    "sub/Agent.YAML",
    "mcp/new.yaml",
    "agents/a/mcp/server.yml",
    ".vscode/tasks.json",
    ".npmrc",
  ];
  await withFolder({ "hidden/": "" }, async (folder) => {
    for (const path of places) {
      assert.equal(await call(writeFile, folder, { path, content: "x" }), "path_protected", path);
    }
    assert.deepEqual(await treeOf(folder), {});
    await Deno.mkdir(`${folder}/.git`);
    await Deno.symlink(".git", `${folder}/plain`);
    assert.equal(await call(writeFile, folder, { path: "plain/config", content: "x" }), "path_protected");
    for (const path of ["git/config", "gitconfig", "mcp/notes.md", "my-agent.yaml.txt"]) {
      assert.match(await call(writeFile, folder, { path, content: "x" }), /^Created/, path);
    }
  });
});

Deno.test("write_file refuses devices and pipes, and does not wait for them", async () => {
  if (Deno.build.os === "windows") return;
  await withFolder({ "a": "" }, async (folder) => {
    const made = await new Deno.Command("mkfifo", { args: [`${folder}/pipe`] }).output();
    assert.ok(made.success);
    assert.equal(await call(writeFile, folder, { path: "pipe", content: "x" }), "path_not_file");
  });
});

Deno.test("patch makes all edits in their order, or none (DM-16)", async () => {
  await withFolder({ "f": "one\ntwo\nthree\ntwo\n" }, async (folder) => {
    const edit = (...edits: readonly Input[]) => call(patch, folder, { path: "f", edits });
    assert.equal(
      await edit({ old: "one", new: "1" }, { old: "1\ntwo", new: "1\n2" }, { old: "three", new: "$& $1" }),
      'Changed "f": 14 bytes now\nedit 1: line 1\nedit 2: line 1\nedit 3: line 3',
    );
    assert.equal(await Deno.readTextFile(`${folder}/f`), "1\n2\n$& $1\ntwo\n");
    assert.equal(await edit({ old: "two", new: "x" }, { old: "not there", new: "y" }), "edit_not_found");
    assert.equal(
      await Deno.readTextFile(`${folder}/f`),
      "1\n2\n$& $1\ntwo\n",
      "the first edit was made alone",
    );
  });
});

Deno.test("patch guesses nothing: a piece that stands nowhere, or twice, is refused with what to do", async () => {
  await withFolder({ "f": "a  b\r\nc\r\na  b\r\n" }, async (folder) => {
    const refusal = async (edit: Input) => {
      const envelope = await patch.handler({ path: "f", edits: [edit] }, useIn(await workspaceAt(folder)));
      const [piece] = envelope.content;
      return piece?.type === "error" ? `${piece.failure.code}: ${piece.failure.message}` : "";
    };
    assert.match(await refusal({ old: "a  b", new: "x" }), /^edit_ambiguous: .*2 times, at lines 1, 3/);
    assert.match(await refusal({ old: "a b", new: "x" }), /^edit_not_found: .*other spaces/);
    assert.match(await refusal({ old: "b\nc", new: "x" }), /^edit_not_found: .*\\r\\n/);
    assert.match(await refusal({ old: "zzz", new: "x" }), /^edit_not_found: .*read the file again/);
    assert.match(await refusal({ old: "c", new: "c" }), /^arguments_invalid: /);
    assert.equal(await Deno.readTextFile(`${folder}/f`), "a  b\r\nc\r\na  b\r\n");
    assert.match(
      await call(patch, folder, { path: "f", edits: [{ old: "a  b", new: "x", all: true }] }),
      /line 1, 3/,
    );
    assert.equal(await Deno.readTextFile(`${folder}/f`), "x\r\nc\r\nx\r\n");
  });
});

Deno.test("patch refuses what is no text, and files that are too large", async () => {
  await withFolder(
    { "bytes": new Uint8Array([0, 255, 1]), "large": "a".repeat(limits.fileBytesMax) },
    async (folder) => {
      assert.equal(
        await call(patch, folder, { path: "bytes", edits: [{ old: "a", new: "b" }] }),
        "file_not_text",
      );
      const longer = [{ old: "a", new: "bb", all: true }];
      assert.equal(await call(patch, folder, { path: "large", edits: longer }), "file_too_large");
      assert.equal((await Deno.stat(`${folder}/large`)).size, limits.fileBytesMax);
      assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), ["bytes", "large"]);
    },
  );
});
