// Proves that no code of a built-in tool is lost on its way to the model (DM-42): every one that its files can give is known.
import assert from "node:assert/strict";
import { codesOfTools } from "../../src/effects/settle.ts";

/** Folders whose refusals reach a model as the results of built-in tools. */
const folders = ["src/tools", "src/net", "src/tasks"] as const;

function codesIn(text: string): readonly string[] {
  const made = /\b(?:failure|retryableFailure|(?:new )?HttpError|refuse|refused)\(\s*"([a-z_]+)"/g;
  return [...text.matchAll(made)].map(([, code]) => code ?? "");
}

Deno.test("settle knows every code that a built-in tool can give to a refusal (DM-42, DM-48)", async () => {
  const found = new Map<string, string>();
  for (const folder of folders) {
    const root = new URL(`../../${folder}/`, import.meta.url);
    for await (const { name, isFile } of Deno.readDir(root)) {
      // What the work of a task ends with stands in its record, and is no result of a call.
      if (!isFile || !name.endsWith(".ts") || name.endsWith("_work.ts")) continue;
      const text = await Deno.readTextFile(new URL(name, root));
      for (const code of codesIn(text)) found.set(code, `${folder}/${name}`);
    }
  }
  assert(found.size > 20, "the search finds what there is");
  const known: ReadonlySet<string> = codesOfTools;
  const unknown = [...found].filter(([code]) => !known.has(code));
  assert.deepEqual(unknown, []);
});
