/** Whether the host's rules take exactly the tools away that they name, and whether what is taken away stays away. */
import assert from "node:assert/strict";
import { matchesToolPattern } from "../../actors/policy/tool_pattern.ts";
import { takenOutBy } from "../../actors/policy/tool_policy.ts";
import { resolveCatalog } from "../../actors/resolve.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import { CatalogEntry, type CatalogSource } from "../../schemas/catalog.ts";
import { HostPolicy, ToolPattern } from "../../schemas/config.ts";
import type { RiskLevel } from "../../schemas/tool.ts";
import { sourceOf, toolOf } from "../support/desk.ts";
import { startCall } from "../support/calls.ts";

// Proves DM-14 (patterns).
Deno.test("tool pattern names a tool, a beginning, or a whole part between dots (DM-14)", () => {
  const fits: readonly (readonly [pattern: string, name: string])[] = [
    ["read_file", "read_file"],
    ["read_*", "read_file"],
    ["*", "mcp.docs.search"],
    ["mcp.docs.*", "mcp.docs.search"],
    ["mcp.docs.*", "mcp.docs.pages.search"],
    ["mcp.*.delete_page", "mcp.docs.delete_page"],
    ["mcp.*.delete_*", "mcp.docs.delete_page"],
    ["*.docs.search", "mcp.docs.search"],
    ["mcp.docs.a..b", "mcp.docs.a..b"],
  ];
  for (const [pattern, name] of fits) assert.ok(matchesToolPattern(pattern, name), `${pattern} ${name}`);
  const misses: readonly (readonly [pattern: string, name: string])[] = [
    ["read_file", "read_files"],
    ["read_files", "read_file"],
    ["read_*", "unread_file"],
    ["mcp.docs.*", "mcp.docs2.search"],
    ["mcp.*.delete_page", "mcp.docs.pages.delete_page"],
    ["mcp.*.delete_page", "mcp.docs.delete_pages"],
    ["mcp.*", "mcp"],
    ["*.search", "mcp.docs.search"],
    ["Read_file", "read_file"],
    ["mcp.d.cs.search", "mcp.docs.search"],
  ];
  for (const [pattern, name] of misses) assert.ok(!matchesToolPattern(pattern, name), `${pattern} ${name}`);
});

Deno.test("tool pattern of any other shape is refused before it is used", () => {
  for (const good of ["read_file", "read_*", "*", "mcp.*.x", "mcp.docs.*", "mcp.docs.a..b"]) {
    assert.ok(ToolPattern.safeParse(good).success, good);
  }
  for (
    const bad of ["", "*_file", "re*d", "mcp.d*.search", "**", "mcp.**", "a b", "re?d", "mcp.[d]", "a/b"]
  ) {
    assert.ok(!ToolPattern.safeParse(bad).success, bad);
  }
});

// No pattern and no name makes the match slow: each of both is walked along once.
Deno.test("tool pattern is matched in one walk, however it repeats itself", () => {
  const pattern = ToolPattern.parse(`${"a.*.".repeat(60)}b`);
  const name = `${"a.a.".repeat(60)}c`;
  let reads = 0;
  const counted = new Proxy(Object(name) as object, {
    get: (target, key) => {
      if (typeof key === "string" && /^\d+$/.test(key)) reads += 1;
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(name) : value;
    },
  });
  assert.equal(matchesToolPattern(pattern, counted as unknown as string), false);
  assert.ok(reads > 0 && reads <= pattern.length, `${reads} reads`);
});

function taken(policy: unknown, canonicalName = "mcp.docs.search", risk: RiskLevel = "medium") {
  return takenOutBy(HostPolicy.parse(policy), { canonicalName, risk });
}

// Proves DM-14 (deny, allow, ceiling).
Deno.test("tool policy takes out what is denied, what an allow list does not name, and what is above the ceiling (DM-14)", () => {
  assert.equal(taken({}), undefined);
  assert.equal(taken({ deny: ["x", "mcp.docs.*"] }), 'policy.deny of the host names "mcp.docs.*"');
  assert.equal(taken({ deny: ["mcp.wiki.*"] }), undefined);
  assert.equal(taken({ allow: ["read_*"] }), "policy.allow of the host does not name it");
  assert.equal(taken({ allow: [] }), "policy.allow of the host does not name it");
  assert.equal(taken({ allow: ["read_*", "mcp.docs.search"] }), undefined);
  assert.equal(taken({ risk_ceiling: "low" }), "its risk is medium, policy.risk_ceiling of the host is low");
  for (const ceiling of ["medium", "high", "critical"]) {
    assert.equal(taken({ risk_ceiling: ceiling }), undefined, ceiling);
  }
  // What is denied stays denied, though it is allowed by name.
  assert.match(taken({ deny: ["mcp.*"], allow: ["mcp.docs.search"] }) ?? "", /policy\.deny/);
});

Deno.test("tool policy of a catalog of an earlier release takes nothing out", () => {
  const { deny: _, ...old } = HostPolicy.parse({});
  assert.equal(takenOutBy(old as HostPolicy, { canonicalName: "x", risk: "critical" }), undefined);
});

const page = toolOf("delete_page");

function resolve(policy: unknown, agent: object = {}, more: readonly CatalogSource[] = []) {
  const resolution = resolveCatalog({
    coreRevision: "core-1",
    agent: AgentDefinition.parse({ name: "clerk", model: "scripted/script.yaml", ...agent }),
    policy: HostPolicy.parse(policy),
    sources: [sourceOf("runtime", [toolOf("read_file")]), sourceOf("mcp", [page]), ...more],
    epoch: 1,
  });
  assert.ok("catalog" in resolution);
  return resolution.catalog.entries.map((entry) => CatalogEntry.parse(entry));
}

// Proves AR-12: three sets, of which policy makes the second.
Deno.test("catalog keeps a tool that the host takes away, switched off and with the reason (AR-12)", () => {
  const agent = { tools: ["read_file"] };
  const stateOf = (policy: unknown, more: object = {}) =>
    resolve(policy, { ...agent, ...more }).map(({ canonicalName, enabled, disabledBy }) => [
      canonicalName,
      enabled,
      ...(disabledBy === undefined ? [] : [disabledBy]),
    ]);
  assert.deepEqual(stateOf({}), [["mcp.docs.delete_page", true], ["read_file", true]]);
  assert.deepEqual(stateOf({ deny: ["mcp.docs.*"] }), [
    ["mcp.docs.delete_page", false, 'policy.deny of the host names "mcp.docs.*"'],
    ["read_file", true],
  ]);
  const isOff = (policy: unknown, more: object = {}) =>
    stateOf(policy, more).filter(([, enabled]) => enabled === false).map(([name]) => name);
  assert.deepEqual(isOff({ allow: ["read_file"] }), ["mcp.docs.delete_page"]);
  assert.deepEqual(isOff({ risk_ceiling: "medium" }), ["mcp.docs.delete_page"]);
  // An agent can neither switch it on nor talk its risk down.
  const overrides = { "mcp.docs.delete_page": { enabled: true, risk: "low" } };
  assert.deepEqual(isOff({ deny: ["mcp.*"] }, { overrides }), ["mcp.docs.delete_page"]);
  assert.deepEqual(isOff({ risk_ceiling: "medium" }, { overrides }), ["mcp.docs.delete_page"]);
  const off = stateOf({}, { overrides: { read_file: { enabled: false } } });
  assert.deepEqual(off[1], ["read_file", false, "overrides in agent.yaml switch it off"]);
});

// Proves DM-22, LC-21: the catalog says whose question it is, and whether a mode may answer it.
Deno.test("catalog says who asks, and lets the mode auto answer only for low-risk reads that the host does not name (LC-21)", () => {
  const agent = { tools: ["read_file"] };
  const reader = (policy: unknown, more: object = {}) => {
    const found = resolve(policy, { ...agent, ...more }).find((one) => one.canonicalName === "read_file");
    return [found?.approvalBy, found?.mayPassUnasked ?? false];
  };
  assert.deepEqual(reader({}), [undefined, false]);
  assert.deepEqual(reader({ default: "prompt" }), ["host_default", true]);
  assert.deepEqual(reader({ risks: { low: "prompt" } }), ["host_risk", true]);
  assert.deepEqual(reader({}, { overrides: { read_file: { approval_policy: "prompt" } } }), ["agent", true]);
  assert.deepEqual(reader({ tools: { read_file: "prompt" } }), ["host_tool", false]);
  assert.deepEqual(reader({ default: "deny" }), ["host_default", false]);
  const risky = { overrides: { read_file: { risk: "medium" } } };
  assert.deepEqual(reader({ default: "prompt" }, risky), ["host_default", false]);
  // A tool of a server has side effects as long as nobody but the server says otherwise.
  const lowered = { "mcp.docs.delete_page": { risk: "low" }, peek: { risk: "low" } };
  const authored = sourceOf("agent", [toolOf("peek", { riskLevel: "medium" })]);
  const found = resolve({ default: "prompt" }, { overrides: lowered }, [authored]);
  // And an agent that talks a risk down talks no question away.
  for (const { definition, mayPassUnasked } of found) {
    assert.deepEqual([definition.riskLevel, mayPassUnasked], ["low", undefined], definition.name);
  }
  assert.equal(found.length, 2);
});

// Proves AR-12, DM-13: it is in the catalog, and yet no call of it goes anywhere.
Deno.test("call of a tool that policy took out is refused with the rule", () => {
  const call = startCall({ entry: { enabled: false, disabledBy: 'policy.deny of the host names "look"' } });
  assert.deepEqual([call.state(), call.kinds()], ["denied", []]);
  const { code, message } = call.result()?.failure ?? {};
  assert.equal(code, "policy_denied");
  assert.match(message ?? "", /policy\.deny of the host names "look"$/);
});
