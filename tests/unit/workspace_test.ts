// Proves the file rows B54, B55, B57 and B63 (notes on reliability and security, 9.5) on real files.
import assert from "node:assert/strict";
import type { Checked } from "../../src/tools/path.ts";
import { openWorkspace, type Workspace } from "../../src/tools/workspace.ts";
import { withFolder, workspaceAt } from "../support/tools.ts";

function codeOf(checked: Checked<unknown>): string {
  return checked.ok ? "read" : checked.failure.code;
}

async function codesOf(workspace: Workspace, paths: readonly string[]): Promise<readonly string[]> {
  return await Promise.all(paths.map(async (path) => codeOf(await workspace.readText(path))));
}

async function textAt(workspace: Workspace, path: string): Promise<string> {
  const read = await workspace.readText(path);
  return read.ok ? read.value.text : read.failure.code;
}

const around = {
  "ws/in.txt": "inside",
  "ws/sub/deep.txt": "deep",
  "ws-evil/out.txt": "SECRET",
  "out.txt": "SECRET",
};

Deno.test("workspace refuses a sibling whose name begins with its own (B54)", async () => {
  await withFolder(around, async (folder) => {
    const workspace = await workspaceAt(`${folder}/ws`);
    assert.deepEqual(await codesOf(workspace, ["../ws-evil/out.txt", `${folder}/ws-evil/out.txt`]), [
      "path_outside_root",
      "path_outside_root",
    ]);
  });
});

Deno.test("workspace refuses paths that climb out, however they are written (B57)", async () => {
  await withFolder(around, async (folder) => {
    const workspace = await workspaceAt(`${folder}/ws`);
    const climbing = [
      "..",
      "../out.txt",
      "sub/../../out.txt",
      "/etc/passwd",
      "/",
      `${folder}/ws/../out.txt`,
      "//etc",
    ];
    assert.deepEqual(await codesOf(workspace, climbing), climbing.map(() => "path_outside_root"));
    assert.equal(await textAt(workspace, "sub/../in.txt"), "inside");
    assert.equal(await textAt(workspace, ".//sub///deep.txt"), "deep");
    assert.equal(await textAt(workspace, `${folder}/ws/in.txt`), "inside");
  });
});

Deno.test("workspace takes percent signs, final dots and other forms of a letter for what they are (B57)", async () => {
  const composed = "caf\u00e9.txt";
  await withFolder(
    { ...around, "ws/%2e%2e/x.txt": "percent", [`ws/${composed}`]: "composed" },
    async (folder) => {
      const workspace = await workspaceAt(`${folder}/ws`);
      assert.equal(await textAt(workspace, "%2e%2e/x.txt"), "percent");
      assert.equal(await textAt(workspace, "%2e%2e/out.txt"), "path_not_found");
      assert.equal(await textAt(workspace, composed), "composed");
      if (Deno.build.os === "linux") {
        const others = ["in.txt.", "in.txt ", "IN.TXT", composed.normalize("NFD")];
        assert.deepEqual(await codesOf(workspace, others), others.map(() => "path_not_found"));
      }
    },
  );
});

Deno.test("workspace refuses paths that no file can have (B57)", async () => {
  await withFolder(around, async (folder) => {
    const workspace = await workspaceAt(`${folder}/ws`);
    const impossible = ["in.txt\0.png", "x".repeat(5_000), "a/".repeat(300), "x".repeat(256), "\ud800"];
    assert.deepEqual(await codesOf(workspace, impossible), impossible.map(() => "path_invalid"));
  });
});

Deno.test("workspace refuses links that lead outside, to a file, a folder, by a chain or to nothing (B55)", async () => {
  await withFolder(around, async (folder) => {
    await Deno.symlink(`${folder}/out.txt`, `${folder}/ws/file`);
    await Deno.symlink("../ws-evil", `${folder}/ws/folder`);
    await Deno.symlink("file", `${folder}/ws/second`);
    await Deno.symlink("second", `${folder}/ws/third`);
    await Deno.symlink(`${folder}/nothing`, `${folder}/ws/dangling`);
    await Deno.symlink("dangling", `${folder}/ws/to_dangling`);
    await Deno.symlink("/", `${folder}/ws/slash`);
    const workspace = await workspaceAt(`${folder}/ws`);
    const leading = [
      "file",
      "folder/out.txt",
      "third",
      "dangling",
      "to_dangling",
      "folder/nothing",
      "slash/etc/passwd",
    ];
    assert.deepEqual(await codesOf(workspace, leading), leading.map(() => "path_outside_root"));
    assert.equal(codeOf(await workspace.listFolder("folder")), "path_outside_root");
  });
});

Deno.test("workspace follows links that stay inside, and says so where they lead nowhere", async () => {
  await withFolder(around, async (folder) => {
    await Deno.symlink("sub", `${folder}/ws/link`);
    await Deno.symlink(`${folder}/ws/in.txt`, `${folder}/ws/absolute`);
    await Deno.symlink("nothing", `${folder}/ws/dangling`);
    await Deno.symlink("circle", `${folder}/ws/circle`);
    const workspace = await workspaceAt(`${folder}/ws`);
    assert.equal(await textAt(workspace, "link/deep.txt"), "deep");
    assert.equal(await textAt(workspace, "absolute"), "inside");
    assert.deepEqual(await codesOf(workspace, ["dangling", "circle"]), ["path_not_found", "path_invalid"]);
  });
});

Deno.test("workspace may itself be a link, and refuses a root that is no folder", async () => {
  await withFolder(around, async (folder) => {
    await Deno.symlink(`${folder}/ws`, `${folder}/named`);
    const workspace = await workspaceAt(`${folder}/named`);
    assert.equal(await textAt(workspace, "in.txt"), "inside");
    assert.equal(await textAt(workspace, `${folder}/named/in.txt`), "inside");
    assert.equal(await textAt(workspace, "../out.txt"), "path_outside_root");
    assert.equal(codeOf(await openWorkspace(`${folder}/out.txt`)), "path_not_folder");
    assert.equal(codeOf(await openWorkspace(`${folder}/nothing`)), "path_not_found");
  });
});

Deno.test("workspace opens nothing but files and folders", async () => {
  await withFolder(around, async (folder) => {
    await new Deno.Command("mkfifo", { args: [`${folder}/ws/pipe`] }).output();
    await Deno.symlink("/dev/zero", `${folder}/ws/zero`);
    using _socket = Deno.listen({ transport: "unix", path: `${folder}/ws/socket` });
    const workspace = await workspaceAt(`${folder}/ws`);
    const paths = ["pipe", "socket", "sub", ".", "zero", "in.txt/x", "nothing"];
    assert.deepEqual(await codesOf(workspace, paths), [
      "path_not_file",
      "path_not_file",
      "path_not_file",
      "path_not_file",
      "path_outside_root",
      "path_not_found",
      "path_not_found",
    ]);
    assert.equal(codeOf(await workspace.listFolder("in.txt")), "path_not_folder");
    const devices = await workspaceAt("/dev");
    assert.equal(codeOf(await devices.readFile("zero")), "path_not_file");
  });
});

Deno.test("workspace refuses what is too large or no text (B63)", async () => {
  const binary = {
    "ws/latin1": new Uint8Array([0x63, 0x61, 0x66, 0xe9]),
    "ws/nul": new Uint8Array([0x61, 0, 0x62]),
  };
  await withFolder({ ...binary, "ws/small": "12345" }, async (folder) => {
    await Deno.writeTextFile(`${folder}/ws/sparse`, "");
    await Deno.truncate(`${folder}/ws/sparse`, 5 * 1024 ** 3);
    const workspace = await workspaceAt(`${folder}/ws`);
    assert.deepEqual(await codesOf(workspace, ["sparse", "latin1", "nul"]), [
      "file_too_large",
      "file_not_text",
      "file_not_text",
    ]);
    assert.equal(codeOf(await workspace.readFile("small", 5)), "read");
    assert.equal(codeOf(await workspace.readFile("small", 4)), "file_too_large");
  });
});

Deno.test("workspace lists by the order of code units and tells files, folders, links and pipes apart", async () => {
  await withFolder({ "b": "", "B": "", "a/x": "", "\u00e9": "", "\u{1f600}": "" }, async (folder) => {
    await Deno.symlink("/etc/passwd", `${folder}/link`);
    await new Deno.Command("mkfifo", { args: [`${folder}/pipe`] }).output();
    const list = await (await workspaceAt(folder)).listFolder(".");
    assert(list.ok);
    assert.deepEqual(list.value.map(({ name, kind }) => `${name} ${kind}`), [
      "B file",
      "a folder",
      "b file",
      "link link",
      "pipe other",
      "\u00e9 file",
      "\u{1f600} file",
    ]);
  });
});

Deno.test("workspace never shows an absolute path or a raw control character in a refusal (B121)", async () => {
  await withFolder(around, async (folder) => {
    const workspace = await workspaceAt(`${folder}/ws`);
    const refused = [
      `${folder}/out.txt`,
      `${folder}/ws/nothing`,
      "\u001b[2Jx",
      "\u202etxt.exe",
      "sub",
      "x".repeat(5_000),
    ];
    for (const path of refused) {
      const read = await workspace.readText(path);
      assert(!read.ok);
      assert(!read.failure.message.includes(folder), read.failure.message);
      assert.match(read.failure.message, /^[ -~…]{1,400}$/);
    }
  });
});
