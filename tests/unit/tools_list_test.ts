// Proves DM-5 and DM-16 for tools_list, LC-4 to LC-7 and AR-6 for the built-in tools.
import assert from "node:assert/strict";
import { CatalogSource } from "../../schemas/catalog.ts";
import { builtinSources, builtinTools } from "../../src/tools/builtin.ts";
import { readFile } from "../../src/tools/read_file.ts";
import { toolsList } from "../../src/tools/tools_list.ts";
import { catalogWith, entryFor, useIn, withFolder, workspaceAt } from "../support/tools.ts";

Deno.test("tools_list lists the enabled tools of the turn's own catalog (DM-5)", async () => {
  await withFolder({}, async (folder) => {
    const catalog = catalogWith(
      entryFor(readFile.definition, { providerName: "reader" }),
      entryFor(toolsList.definition, { enabled: false }),
    );
    const result = await toolsList.handler({}, useIn(await workspaceAt(folder), { catalog }));
    assert.deepEqual(result.content, [{
      type: "structured",
      value: {
        epoch: 1,
        tools: [{
          name: "reader",
          title: "Read file",
          source: "runtime",
          risk: "low",
          approval: "auto",
          capability: "fs.read",
        }],
      },
    }]);
  });
});

Deno.test("built-in tools are found in the dispatch map under the names of their definitions (LC-5, LC-6, LC-7)", () => {
  assert.deepEqual([...builtinTools.keys()].sort(), [
    "clarify",
    "delegate_task",
    "list_files",
    "patch",
    "read_file",
    "read_result",
    "schedule_manage",
    "search_files",
    "session_search",
    "skill_manage",
    "skill_view",
    "skills_list",
    "subagent_close",
    "subagent_list",
    "subagent_send",
    "subagent_spawn",
    "subagent_wait",
    "task_control",
    "task_list",
    "task_status",
    "terminal",
    "todo",
    "tools_list",
    "web_extract",
    "write_file",
    "yield_until",
  ]);
  for (const [name, tool] of builtinTools) assert.equal(tool.definition.name, name);
});

// What each of them may do stands in the table of `builtin_test.ts`.
Deno.test("built-in tools are offered as two sources of local trust (AR-6)", () => {
  const sources = builtinSources.map((source) => CatalogSource.parse(source));
  assert.deepEqual(sources.map(({ kind, adapter, remote }) => [kind, adapter, remote]), [
    ["troupe", "builtin", false],
    ["runtime", "builtin", false],
  ]);
  for (const { kind, provenance } of sources) {
    assert.deepEqual(provenance, { source: kind, origin: "built in", trust: "trusted_local" });
  }
});

Deno.test("built-in tools tell a model a closed object schema that came out of their zod schema (LC-6)", () => {
  for (const { definition } of builtinTools.values()) {
    assert.equal(definition.inputSchema["type"], "object");
    assert.equal(definition.inputSchema["additionalProperties"], false);
    assert.equal(definition.inputSchema["$schema"], undefined);
  }
  const schema = readFile.definition.inputSchema as {
    readonly required: readonly string[];
    readonly properties: { readonly [key: string]: { readonly [key: string]: unknown } };
  };
  assert.deepEqual(schema.required, ["path"]);
  assert.deepEqual(Object.keys(schema.properties), ["path", "offset", "limit"]);
  assert.equal(schema.properties["offset"]?.["minimum"], 1);
});
