/** Whether a turn plans its calls by what the entries of its catalog say, and takes silence for a no. */
import assert from "node:assert/strict";
import { internCatalog } from "../../actors/library.ts";
import type { TurnContext } from "../../actors/turn_context.ts";
import { plan } from "../../actors/turn_rules.ts";
import type { CatalogEntry } from "../../schemas/catalog.ts";
import { canonicalJson, type Json } from "../../schemas/json.ts";
import type { ToolDefinition } from "../../schemas/tool.ts";
import { toolOf } from "../support/desk.ts";
import { entryFor } from "../support/tools.ts";
import { digestNow } from "../support/world.ts";

/** An entry that says nothing of parallel safety, as one of another release might. */
function silentEntry(name: string): CatalogEntry {
  const { parallelSafe: _, ...definition } = toolOf(name);
  return { ...entryFor(toolOf(name)), definition: definition as ToolDefinition };
}

/** How the calls of one answer are staged: `look+look act` is a stage of two and one of one. */
function stagesOf(...names: readonly string[]): string {
  const entries = [
    entryFor(toolOf("look", { parallelSafe: true })),
    entryFor(toolOf("act", { parallelSafe: false })),
    silentEntry("silent"),
  ];
  const catalog = { epoch: 1, coreRevision: "core-1", entries };
  const hash = digestNow(new TextEncoder().encode(canonicalJson(catalog as unknown as Json)));
  internCatalog(hash, catalog);
  const calls = names.map((name, index) => ({ callId: `call_${index + 1}`, name, arguments: {} }));
  const context: Pick<TurnContext, "turn" | "step" | "catalog" | "calls"> = {
    turn: 1,
    step: 0,
    catalog: { hash, epoch: 1 },
    calls,
  };
  const { stages } = plan(context as TurnContext);
  return stages.map(({ kind, members }) => {
    const isSafe = kind === "parallel_safe_group";
    return members.map(({ position }) => `${names[position]}${isSafe ? "" : "!"}`).join("+");
  }).join(" ");
}

Deno.test("turn plans calls together whose entries say that they may run at once (CM-87)", () => {
  assert.equal(stagesOf("look", "look", "act", "look"), "look+look act! look");
});

// Proves CM-83: the default is false.
Deno.test("turn plans a call alone whose entry says nothing of parallel safety", () => {
  assert.equal(stagesOf("silent", "silent"), "silent! silent!");
  assert.equal(stagesOf("look", "silent", "look"), "look silent! look");
});

// Proves CM-83, DM-13: what is not in the catalog has said nothing at all.
Deno.test("turn plans a call alone that has no entry, whatever its name", () => {
  for (const name of ["nope", "lookk", "__proto__", ""]) {
    assert.equal(stagesOf(name, name), `${name}! ${name}!`);
    assert.equal(stagesOf("look", name, "look"), `look ${name}! look`);
  }
});
