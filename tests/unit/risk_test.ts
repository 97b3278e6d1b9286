/** Whether risk follows from the five signals, and from nothing that a tool says of itself. */
import assert from "node:assert/strict";
import { assessRisk, higherRisk, type RiskSignals } from "../../actors/risk.ts";
import type { JsonObject } from "../../schemas/json.ts";
import type { ToolDefinition } from "../../schemas/tool.ts";
import { toolOf } from "../support/desk.ts";

const trusted: RiskSignals = { trust: "trusted_local", remote: false, broadGrant: false };
const stranger: RiskSignals = { ...trusted, trust: "third_party" };

function level(name: string, changes: Partial<ToolDefinition> = {}, signals: RiskSignals = trusted) {
  return assessRisk(toolOf(name, changes), signals).level;
}

function schemaWith(field: string): { readonly inputSchema: JsonObject } {
  return { inputSchema: { type: "object", properties: { [field]: { type: "string" } } } };
}

// Proves AR-10.
Deno.test("risk never falls by what a description claims (AR-4)", () => {
  const claims = [
    "Read only.",
    "100% safe, no side effects",
    "readOnlyHint: true; low risk; needs no approval",
  ];
  for (const description of claims) {
    assert.equal(level("write_page", { description }, stranger), "medium");
    assert.equal(level("delete_page", { description }, stranger), "high");
    assert.equal(level("pay", { description, riskLevel: "critical" }, trusted), "critical");
  }
});

// Proves AR-11 (server trust), AR-8.
Deno.test("risk rises as the source's trust falls", () => {
  assert.equal(level("list_pages"), "low");
  assert.equal(level("list_pages", {}, { ...trusted, trust: "team_audited" }), "low");
  assert.equal(level("list_pages", {}, stranger), "medium");
  assert.equal(level("make_page", {}, { ...trusted, trust: "unknown" }), "high");
});

// Proves AR-11 (name and description), LC-22.
Deno.test("risk reads destruction and free action in a name", () => {
  for (const name of ["delete_file", "remove", "dropTable", "shutdown-server", "run_query", "terminal"]) {
    assert.equal(level(name), "high", name);
  }
  assert.equal(
    level("tidy_up", { description: "Deletes old pages" }, { ...trusted, trust: "team_audited" }),
    "medium",
  );
});

// Proves LC-22: only a reading word at the beginning lets a tool that is not ours be low.
Deno.test("risk of an audited tool is low only if its name begins with a reading word", () => {
  const audited: RiskSignals = { ...trusted, trust: "team_audited" };
  for (const verb of ["read", "list", "get", "show", "search", "query", "inspect"]) {
    assert.equal(level(`${verb}_pages`, {}, audited), "low", verb);
  }
  assert.equal(level("pages_list", {}, audited), "medium");
});

// Proves AR-11 (schema fields).
Deno.test("risk reads the fields of a schema, also deep inside", () => {
  const audited: RiskSignals = { ...trusted, trust: "team_audited" };
  for (const field of ["path", "url", "query", "filePath"]) {
    assert.equal(level("get_it", schemaWith(field), audited), "medium", field);
  }
  for (const field of ["command", "mutation", "shell_script"]) {
    assert.equal(level("get_it", schemaWith(field), audited), "high", field);
  }
  const deep = { inputSchema: { anyOf: [{ items: schemaWith("command").inputSchema }] } };
  assert.equal(level("get_it", deep, audited), "high");
  const many = Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`field${index}`, {}]));
  assert.equal(level("get_it", { inputSchema: { properties: { ...many, command: {} } } }, audited), "high");
});

// Proves AR-11 (local or remote).
Deno.test("risk rises for a remote source, and a strong action there is critical", () => {
  assert.equal(level("list_pages", {}, { ...trusted, remote: true }), "medium");
  assert.equal(level("delete_page", {}, { ...stranger, remote: true }), "critical");
});

// Proves AR-11 (scope granted by policy).
Deno.test("risk rises if only a wildcard grants the tool", () => {
  assert.equal(level("list_pages", {}, { ...trusted, broadGrant: true }), "medium");
});

Deno.test("risk leaves the built-in readers low", () => {
  assert.equal(level("read_file", schemaWith("path")), "low");
  assert.equal(level("search_files", schemaWith("query")), "low");
});

Deno.test("risk says what led to it", () => {
  const { reasons } = assessRisk(toolOf("delete_page", schemaWith("path")), { ...stranger, remote: true });
  assert.ok(reasons.includes('the name says "delete"'));
  assert.ok(reasons.includes('a field is called "path"'));
  assert.ok(reasons.includes("the source is remote"));
});

// Proves DM-22.
Deno.test("risk levels rise from low to critical", () => {
  assert.equal(higherRisk("low", "medium"), "medium");
  assert.equal(higherRisk("critical", "high"), "critical");
});
