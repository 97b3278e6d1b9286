/** How one program is made: what is refused, what is baked into it, and what can be read back. */
import assert from "node:assert/strict";
import { readPayload } from "../../.house/compile/payload.ts";
import {
  BuildError,
  compileBundle,
  mainFile,
  namedFlags,
  programFlags,
  project,
  threads,
} from "../../.house/compile/program.ts";
import { playScenario } from "../../.house/compile/scenario.ts";

async function inFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${folder}/bundle`);
    await Deno.writeTextFile(`${folder}/bundle/${mainFile}`, 'console.log("made");\n');
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function compile(folder: string, base: string): Promise<void> {
  const flags = [...programFlags, ...namedFlags];
  return compileBundle({ folder: `${folder}/bundle`, output: `${folder}/made`, base, flags });
}

Deno.test("compile says in one sentence that there is no base, with an exit code of its own", () =>
  inFolder(async (folder) => {
    await assert.rejects(compile(folder, `${folder}/nobody`), (error) => {
      assert.ok(error instanceof BuildError);
      assert.equal(error.exit, 3);
      assert.match(error.message, /^Cannot compile here: there is no base [^\n]*DENORT_BIN[^\n]*DENO_DIR$/);
      return true;
    });
  }));

Deno.test("compile of what is no program is another failure", () =>
  inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/bundle/${mainFile}`, "const = 1;\n");
    await assert.rejects(compile(folder, Deno.execPath()), { name: "BuildError", exit: 1 });
  }));

Deno.test("payload gives back the flags and files that were embedded, and refuses what has none", () =>
  inFolder(async (folder) => {
    await Deno.mkdir(`${folder}/bundle/below`);
    await Deno.writeTextFile(`${folder}/bundle/below/a.txt`, "[{ not a tree");
    await compile(folder, Deno.execPath());
    const { settings, files } = readPayload(await Deno.readFile(`${folder}/made`));
    assert.deepEqual([...files.keys()].sort(), ["below/a.txt", mainFile]);
    assert.equal(new TextDecoder().decode(files.get("below/a.txt")), "[{ not a tree");
    assert.equal(new TextDecoder().decode(files.get(mainFile)), 'console.log("made");\n');
    assert.equal(settings.entrypoint_key, mainFile);
    assert.equal(settings.app_name, "troupe");
    assert.equal(settings.permissions["prompt"], false);
    assert.equal(settings.code_cache_key, null);
    assert.deepEqual(settings.unstable_config.features, ["kv"]);
    assert.throws(() => readPayload(new TextEncoder().encode("d3n0l4nd and nothing else")), /there is none/);
  }));

Deno.test("scenario of a program that does nothing is complained about, step by step", async () => {
  const told: (string | undefined)[] = [];
  const program = { command: "/bin/true", args: [], env: {} };
  assert.equal(await playScenario(program, true, (_, why) => told.push(why)), false);
  assert.ok(told.length > 10);
  for (const why of told) assert.match(why ?? "", /^does not show/);
});

Deno.test("every thread of the source is in the bundle under the name by which it is started", async () => {
  const found: string[] = [];
  for await (const path of filesOf(`${project}/src`)) {
    const text = await Deno.readTextFile(path);
    if (!/new Worker\(/.test(text)) continue;
    found.push(...[...text.matchAll(/"\.\/(\w+\.js)"/g)].map(([, file = ""]) => file));
    assert.ok(/"\.\/\w+\.js"/.test(text), `${path} starts a thread that no bundle has`);
  }
  assert.deepEqual(found.sort(), Object.keys(threads).sort());
  for (const module of Object.values(threads)) assert.ok((await Deno.stat(`${project}/${module}`)).isFile);
});

async function* filesOf(folder: string): AsyncIterable<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) yield* filesOf(`${folder}/${name}`);
    else if (name.endsWith(".ts")) yield `${folder}/${name}`;
  }
}
