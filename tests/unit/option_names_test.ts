/** Files whose names look like options: what is meant as a file is one, or a person is asked. */
import assert from "node:assert/strict";
import { listFiles } from "../../src/tools/list_files.ts";
import { readFile } from "../../src/tools/read_file.ts";
import { searchFiles } from "../../src/tools/search_files.ts";
import { writeFile } from "../../src/tools/write_file.ts";
import { review } from "../support/reviewing.ts";
import { textIn, useIn, withFolder, workspaceAt } from "../support/tools.ts";

const names = ["--output=x", "-rf", "-o", "--"];

Deno.test("file tools take a name that looks like an option for the file that it is (B42)", async () => {
  await withFolder(Object.fromEntries(names.map((name) => [name, `alpha in ${name}\n`])), async (folder) => {
    const use = useIn(await workspaceAt(folder));
    assert.deepEqual(textIn(await listFiles.handler({}, use)).split("\n").sort(), [...names].sort());
    for (const path of names) {
      assert.match(
        textIn(await readFile.handler({ path }, use)),
        new RegExp(`alpha in ${RegExp.escape(path)}`),
      );
      const found = textIn(await searchFiles.handler({ pattern: "alpha", path }, use));
      assert.ok(found.includes(`${path}:1:`) && found.includes("alpha"), found);
      await writeFile.handler({ path, content: `beta in ${path}\n` }, use);
      assert.equal(await Deno.readTextFile(`${folder}/${path}`), `beta in ${path}\n`);
    }
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), [...names].sort());
  });
});

Deno.test("command review takes an operand that looks like an option for one, unless it stands behind -- or ./ (B42)", async () => {
  const verdict = async (wanted: { readonly argv: readonly string[] } | { readonly shell: string }) =>
    (await review(wanted)).verdict;
  for (const name of ["--output=x", "-ox", "--compress-program=sh"]) {
    assert.equal(await verdict({ argv: ["sort", name] }), "prompt", name);
    assert.equal(await verdict({ argv: ["sort", "a.txt", name] }), "prompt", name);
    assert.equal(await verdict({ argv: ["sort", "--", name] }), "allow", name);
    assert.equal(await verdict({ argv: ["sort", `./${name}`] }), "allow", name);
  }
  // Here it may be the value of an option: what stands behind it is one too.
  for (
    const argv of [
      ["sort", "-T", "--", "--output=x", "a.txt"],
      ["sort", "--temporary-directory", "--", "-ox", "a.txt"],
      ["rg", "-e", "--", "--pre=sh", "a"],
      ["tree", "-P", "--", "-o", "x"],
    ]
  ) {
    assert.equal(await verdict({ argv }), "prompt", argv.join(" "));
  }
  // Nobody sees what a pattern or a variable becomes: any file may be called so.
  for (const shell of ["sort *", "sort -?", "sort {a,-o}", 'sort "$name"', "ls | xargs sort", "sort $(ls)"]) {
    assert.equal(await verdict({ shell }), "prompt", shell);
  }
});
