/** Whether one call gets the right verdict, and whether a grant covers what it says and nothing else. */
import assert from "node:assert/strict";
import { authorize } from "../../actors/policy/authorize.ts";
import { ruleKey } from "../../actors/policy/rule_key.ts";
import type { CatalogEntry } from "../../schemas/catalog.ts";
import type { JsonObject } from "../../schemas/json.ts";
import type { ToolDefinition } from "../../schemas/tool.ts";
import { toolOf } from "../support/desk.ts";

function entryOf(changes: Partial<ToolDefinition>, enabled = true): CatalogEntry {
  return {
    sourceKind: "runtime",
    canonicalName: "write_file",
    providerName: "write_file",
    definition: toolOf("write_file", { capability: "fs.write", ...changes }),
    provenance: { source: "runtime", origin: "built in", trust: "trusted_local" },
    coreRevision: "core-1",
    adapter: "builtin",
    binding: "",
    enabled,
  };
}

const call: JsonObject = { path: "a.txt", content: "x" };

function judge(
  entry: CatalogEntry,
  grants: readonly string[] = [],
  capabilities: readonly string[] = ["fs.write"],
) {
  return authorize({ entry, capabilities, grants, rule: ruleKey(entry, call) });
}

Deno.test("authorize allows what policy allows and asks where policy asks", () => {
  assert.equal(judge(entryOf({})).verdict, "allow");
  assert.equal(judge(entryOf({ approvalPolicy: "prompt" })).verdict, "ask");
});

// Proves DM-19 (order of the checks that are policy's).
Deno.test("authorize denies first what is switched off, then what is not granted, then what policy denies", () => {
  const denied = entryOf({ approvalPolicy: "deny" });
  assert.match(judge(entryOf({ approvalPolicy: "deny" }, false), [], []).reason, /switched off/);
  assert.equal(judge(entryOf({}, false)).failure?.code, "policy_denied");
  assert.equal(judge(denied, [], []).failure?.code, "capability_missing");
  assert.equal(judge(denied).failure?.code, "policy_denied");
});

Deno.test("authorize gives a failure exactly with a denial", () => {
  for (const approvalPolicy of ["auto", "prompt", "deny"] as const) {
    const { verdict, failure } = judge(entryOf({ approvalPolicy }));
    assert.equal(failure !== undefined, verdict === "deny");
  }
});

Deno.test("authorize lets a grant turn ask into allow and never a denial into anything", () => {
  const rule = ruleKey(entryOf({}), call);
  assert.equal(judge(entryOf({ approvalPolicy: "prompt" }), [rule]).verdict, "allow");
  assert.equal(judge(entryOf({ approvalPolicy: "deny" }), [rule]).verdict, "deny");
  assert.equal(judge(entryOf({ approvalPolicy: "prompt" }, false), [rule]).verdict, "deny");
  assert.equal(judge(entryOf({ approvalPolicy: "prompt" }), [rule], []).verdict, "deny");
});

// Proves DM-38.
Deno.test("authorize never lets one mutation allow another", () => {
  const writer = entryOf({ approvalPolicy: "prompt", sideEffects: true });
  const granted = [ruleKey(writer, call)];
  const other = (changed: JsonObject) =>
    authorize({ entry: writer, capabilities: ["fs.write"], grants: granted, rule: ruleKey(writer, changed) })
      .verdict;
  assert.equal(other({ content: "x", path: "a.txt" }), "allow");
  assert.equal(other({ path: "b.txt", content: "x" }), "ask");
  assert.equal(other({ path: "a.txt", content: "y" }), "ask");
  assert.equal(other({ path: "a.txt" }), "ask");
});

Deno.test("authorize lets one grant cover all calls of a tool without side effects", () => {
  const reader = entryOf({ approvalPolicy: "prompt", sideEffects: false });
  const granted = [ruleKey(reader, call)];
  const rule = ruleKey(reader, { path: "other" });
  assert.equal(
    authorize({ entry: reader, capabilities: ["fs.write"], grants: granted, rule }).verdict,
    "allow",
  );
});

Deno.test("authorize has no rule for arguments too long to be shown, so always means once", () => {
  const writer = entryOf({ approvalPolicy: "prompt", sideEffects: true });
  const rule = ruleKey(writer, { content: "x".repeat(600) });
  assert.equal(rule, "");
  assert.equal(
    authorize({ entry: writer, capabilities: ["fs.write"], grants: ["", rule], rule }).verdict,
    "ask",
  );
});
