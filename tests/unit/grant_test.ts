/** Whether an earlier answer covers exactly what it was given for, in the runtime that it was given to, for 8 hours. */
import assert from "node:assert/strict";
import { callScope, connectScope, isSameScope } from "../../actors/policy/approval_scope.ts";
import { findGrant, withGrant, withoutGrantsOf } from "../../actors/policy/grant.ts";
import { ApprovalScope, Grant } from "../../schemas/grant.ts";
import { limits } from "../../schemas/limits.ts";
import type { McpDeclaration } from "../../schemas/manifest.ts";
import { toolOf } from "../support/desk.ts";
import { entryFor, grantFor, sealedEntry } from "../support/tools.ts";

const entry = sealedEntry(entryFor(toolOf("look")));
const given = grantFor(entry, "look");
const query = { scope: given.scope, at: 2_000, epoch: 1 };

Deno.test("grant covers the very call that it was given for", () => {
  assert.deepEqual(Grant.parse(given), given);
  assert.equal(findGrant([given], query).grant, given);
});

Deno.test("grant counts only if rule, tool, entry, core revision, capabilities and mode are the same (DM-35)", () => {
  const other: ApprovalScope = {
    rule: "look {}",
    subject: "peek",
    entry: `sha256:${"1".repeat(64)}`,
    coreRevision: "core-2",
    capabilities: "fs.read",
    mode: "auto",
  };
  for (const field of Object.keys(ApprovalScope.shape) as (keyof ApprovalScope)[]) {
    const scope = { ...given.scope, [field]: other[field] };
    const { grant, isStale, why } = findGrant([given], { ...query, scope });
    assert.equal(grant, undefined, field);
    assert.equal(isStale, field !== "rule" && field !== "subject", field);
    if (field === "entry") assert.match(why, /definition or its policy has changed/);
    if (field === "mode") assert.match(why, /rights or the mode have changed/);
  }
});

// What an entry is hashed over holds the effective policy, so the policy is part of the scope.
Deno.test("grant ends with its tool's policy, definition and core revision (DM-35)", () => {
  const tool = toolOf("look");
  const others = [
    entryFor({ ...tool, approvalPolicy: "prompt" }),
    entryFor({ ...tool, description: "Another one" }),
    entryFor(tool, { coreRevision: "core-2" }),
  ];
  for (const changed of others.map(sealedEntry)) {
    const scope = callScope(changed, { rule: "look", capabilities: [], mode: "default" });
    assert.equal(findGrant([given], { ...query, scope }).grant, undefined);
  }
});

Deno.test("grant lives for 8 hours by the time of events, and is not valid before it was given (DM-36)", () => {
  const last = given.at + 8 * 3_600_000;
  assert.equal(findGrant([given], { ...query, at: last - 1 }).grant, given);
  const late = findGrant([given], { ...query, at: last });
  assert.deepEqual([late.grant, late.isStale], [undefined, true]);
  assert.match(late.why, /more than 8 hours ago/);
  assert.equal(findGrant([given], { ...query, at: given.at - 1 }).grant, undefined);
});

Deno.test("grant is not taken over by the next runtime (DM-36)", () => {
  const next = findGrant([given], { ...query, epoch: 2 });
  assert.equal(next.grant, undefined);
  assert.match(next.why, /started anew/);
});

Deno.test("grants of an earlier release are rules alone, and count for nothing", () => {
  assert.equal(findGrant(["look"], query).grant, undefined);
  assert.deepEqual(withGrant(["look"], given), [given]);
  assert.deepEqual(withoutGrantsOf(["look"], { kind: "user", id: "ada" }), []);
});

Deno.test("grants are kept once for each scope, and at most 100 of them", () => {
  assert.deepEqual(withGrant([given], { ...given, at: 5_000 }), [{ ...given, at: 5_000 }]);
  let grants = withGrant([], given);
  for (let n = 0; n < limits.grantsMax; n++) grants = withGrant(grants, grantFor(entry, `look ${n}`));
  assert.equal(grants.length, limits.grantsMax);
  assert.equal(findGrant(grants, query).grant, undefined);
});

Deno.test("grants that a principal gave end with it, and no other's do (DM-36)", () => {
  const hers = { ...grantFor(entry, "look 1"), by: { kind: "user" as const, id: "ada" } };
  assert.deepEqual(withoutGrantsOf([given, hers], hers.by), [given]);
  assert.deepEqual(withoutGrantsOf([given, hers], undefined), []);
});

Deno.test("approval scope is null where nothing exact can be said, and for what binds a secret (DM-39)", () => {
  const scope = (changes: Parameters<typeof toolOf>[1], rule = "look") =>
    callScope(sealedEntry(entryFor(toolOf("look", changes))), { rule, capabilities: [], mode: "default" });
  assert.ok(scope({}));
  assert.equal(scope({}, ""), null);
  assert.equal(scope({ capability: "secret.bind:TOKEN" }), null);
  assert.equal(scope({ resources: [{ kind: "secret", scope: "TOKEN" }] }), null);
  const { hash: _, ...old } = entry;
  assert.equal(callScope(old, { rule: "look", capabilities: [], mode: "default" }), null);
});

Deno.test("approval scope of a server changes with its declaration, and with nothing else (DM-62)", () => {
  const declared = { server: "docs", fingerprint: `sha256:${"a".repeat(64)}` } as McpDeclaration;
  const scope = connectScope(declared);
  assert.equal(scope.rule, "mcp.connect:docs");
  assert.ok(isSameScope(scope, connectScope({ ...declared, preview: "other words" })));
  const changed = connectScope({ ...declared, fingerprint: `sha256:${"b".repeat(64)}` });
  assert.ok(!isSameScope(scope, changed));
});
