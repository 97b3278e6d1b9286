/** The tools that come with the runtime, as sources of the catalog. */
import assert from "node:assert/strict";
import { builtinSources, builtinTools } from "../../src/tools/builtin.ts";

// CM-92. `subagent_list` comes with child agents; until then no tool of the core runs beside another, and of the execution
// runtime only those that read.
Deno.test("builtin tools run beside each other only if they read the workspace (CM-92 as design.md section 8 decides it)", () => {
  const parallel = builtinSources.flatMap((source) =>
    source.tools.filter((tool) => tool.parallelSafe).map((tool) => `${source.kind}.${tool.name}`)
  );
  assert.deepEqual(parallel.sort(), ["runtime.list_files", "runtime.read_file", "runtime.search_files"]);
});

Deno.test("builtin tools are harmless: idempotent, without side effects, of low risk", () => {
  for (const { definition } of builtinTools.values()) {
    const { effectClass, sideEffects, riskLevel, approvalPolicy } = definition;
    assert.deepEqual([effectClass, sideEffects, riskLevel, approvalPolicy], [
      "idempotent",
      false,
      "low",
      "auto",
    ]);
  }
});

Deno.test("builtin sources offer exactly the tools that can be dispatched", () => {
  const offered = builtinSources.flatMap((source) => source.tools.map((tool) => tool.name)).sort();
  assert.deepEqual(offered, [...builtinTools.keys()].sort());
});
