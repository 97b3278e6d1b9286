/** Whether a definition is bound to what its governance mode allows, and to nothing else. */
import assert from "node:assert/strict";
import { runnerOf } from "../../actors/governance.ts";
import { resolveCatalog } from "../../actors/resolve.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import { type CatalogEntry, CatalogSource } from "../../schemas/catalog.ts";
import { HostPolicy } from "../../schemas/config.ts";
import type { FailureCode } from "../../schemas/failure.ts";
import { BindingReason, GovernanceMode, ToolKind } from "../../schemas/governance.ts";
import type { Json } from "../../schemas/json.ts";
import { SourceKind } from "../../schemas/provenance.ts";
import type { ToolDefinition } from "../../schemas/tool.ts";
import { sourceOf, toolOf } from "../support/desk.ts";

const read = toolOf("read_file", { capability: "fs.read", parallelSafe: true });
const builtIn = sourceOf("runtime", [read]);
const own = sourceOf("troupe", [toolOf("tools_list")]);
const remote = sourceOf("mcp", [toolOf("search")]);

/** What a program offers: tools of its own, or other implementations. */
function program(tools: readonly ToolDefinition[], changes: Partial<CatalogSource> = {}): CatalogSource {
  const provenance = { source: "program" as const, origin: "acme", trust: "third_party" as const };
  return sourceOf("program", tools, { provenance, adapter: "program", ...changes });
}

const other = program([toolOf("read_file", { version: "7", parallelSafe: true })], {
  role: "implementations",
});
const otherRef = "program/acme/read_file@7";

interface Sketch {
  readonly sources: readonly CatalogSource[];
  readonly tools?: readonly string[];
  readonly implementations?: { readonly [tool: string]: string };
  readonly overrides?: { readonly [tool: string]: Json };
  readonly overlays?: readonly Json[];
  readonly policy?: Json;
}

function resolutionOf({ sources, tools = ["read_file"], policy = {}, overlays, ...agent }: Sketch) {
  for (const source of sources) CatalogSource.parse(source);
  return resolveCatalog({
    coreRevision: "core-1",
    agent: AgentDefinition.parse({
      name: "clerk",
      model: "scripted/s.yaml",
      tools,
      ...agent,
      ...(overlays === undefined ? {} : { tool_policy_overlays: overlays }),
    }),
    policy: HostPolicy.parse(policy),
    sources,
    epoch: 1,
  });
}

function entriesOf(sketch: Sketch): readonly CatalogEntry[] {
  const resolution = resolutionOf(sketch);
  assert.ok("catalog" in resolution, JSON.stringify(resolution));
  return resolution.catalog.entries;
}

function refusalOf(sketch: Sketch): { readonly code: FailureCode; readonly message: string } {
  const resolution = resolutionOf(sketch);
  assert.ok("failure" in resolution, "it was not refused");
  return resolution.failure;
}

Deno.test("governance has three modes, three reasons to bind, three kinds of call (CM-7, CM-12, CM-20)", () => {
  assert.deepEqual(GovernanceMode.options, ["reserved", "whitelist_only", "replaceable"]);
  assert.deepEqual(BindingReason.options, ["snapshot_default", "recovery_override", "explicit_override"]);
  assert.deepEqual(ToolKind.options, ["kernel_primitive", "agent_observation", "effect_intent"]);
});

Deno.test("governance gives every definition its mode by the first rule that fits, whatever its source says (CM-24, CM-25)", () => {
  const spawn = sourceOf("troupe", [toolOf("subagent_spawn"), toolOf("troupe__stop")]);
  const sources = [
    builtIn,
    own,
    spawn,
    remote,
    program([toolOf("quote")]),
    sourceOf("agent", [toolOf("sum")]),
  ];
  const tools = ["read_file", "tools_list", "subagent_spawn", "troupe__stop"];
  const modes = entriesOf({ sources, tools }).map((
    { canonicalName, governance },
  ) => [canonicalName, governance]);
  assert.deepEqual(Object.fromEntries(modes), {
    "mcp.docs.search": "replaceable",
    quote: "replaceable",
    read_file: "whitelist_only",
    subagent_spawn: "reserved",
    sum: "replaceable",
    tools_list: "reserved",
    troupe__stop: "reserved",
  });
  // A source has no field in which it could claim a mode.
  assert.throws(() => CatalogSource.parse({ ...remote, governance: "replaceable" }));
});

Deno.test("governance binds the default implementation of every definition unless somebody asks for another (CM-9, CM-45)", () => {
  const [entry] = entriesOf({ sources: [builtIn, other] });
  assert.deepEqual([entry?.implementation, entry?.bindingReason], ["runtime/read_file@1", undefined]);
  const marks = entry?.candidates?.map(({ ref, isDefault }) => [ref, isDefault]);
  assert.deepEqual(marks, [["runtime/read_file@1", true], [otherRef, false]]);
  // A candidate that is gone is gone.
  assert.equal(entriesOf({ sources: [builtIn] })[0]?.candidates, undefined);
});

Deno.test("governance refuses any implementation of a reserved tool but its own (CM-21)", () => {
  // Not even the operator can approve one.
  const alternative = program([toolOf("tools_list")], { role: "implementations" });
  const policy = { implementations: { tools_list: ["program/acme/tools_list@1"] } };
  const sketch = { sources: [own, alternative], tools: ["tools_list"], policy };
  const refused = refusalOf({ ...sketch, implementations: { tools_list: "program/acme/tools_list@1" } });
  assert.equal(refused.code, "implementation_reserved");
  assert.match(refused.message, /must use the reserved implementation "troupe\/tools_list@1"/);
  const usual = entriesOf({ ...sketch, implementations: { tools_list: "troupe/tools_list@1" } });
  assert.equal(usual[0]?.bindingReason, undefined);
});

Deno.test("governance lets tools of the runtime be replaced only from the operator's list (CM-22)", () => {
  const sketch = { sources: [builtIn, other], implementations: { read_file: otherRef } };
  assert.equal(refusalOf(sketch).code, "implementation_not_approved");
  const unlisted = { implementations: { read_file: ["program/acme/read_file@6"] } };
  assert.equal(refusalOf({ ...sketch, policy: unlisted }).code, "implementation_not_approved");
  const policy = { implementations: { read_file: ["program/acme/read_file@6", otherRef] } };
  const [entry] = entriesOf({ ...sketch, policy });
  assert.deepEqual([entry?.implementation, entry?.bindingReason, entry?.adapter, entry?.binding], [
    otherRef,
    "explicit_override",
    "program",
    "acme",
  ]);
  // What was approved and is not offered is not replaced by something else.
  const gone = { implementations: { read_file: [otherRef] } };
  assert.equal(refusalOf({ ...sketch, sources: [builtIn], policy: gone }).code, "implementation_unknown");
});

Deno.test("governance lets replaceable tools be bound to any implementation of the same definition (CM-23)", () => {
  const sum = sourceOf("agent", [toolOf("sum")]);
  const alternatives = program([toolOf("sum"), toolOf("sum", { version: "2" })], { role: "implementations" });
  const sketch = { sources: [sum, alternatives], tools: [] };
  for (const ref of ["agent/sum@1", "program/acme/sum@1", "program/acme/sum@2"]) {
    assert.equal(entriesOf({ ...sketch, implementations: { sum: ref } })[0]?.implementation, ref);
  }
  const foreign = refusalOf({ ...sketch, implementations: { sum: "program/acme/quote@1" } });
  assert.equal(foreign.code, "implementation_unknown");
  assert.match(foreign.message, /offered are agent\/sum@1, program\/acme\/sum@1, program\/acme\/sum@2/);
});

Deno.test("governance refuses two definitions of one name, and an implementation of nothing (CM-40)", () => {
  assert.equal(refusalOf({ sources: [builtIn, program([toolOf("read_file")])] }).code, "tool_name_collision");
  const orphan = refusalOf({ sources: [builtIn, program([toolOf("nope")], { role: "implementations" })] });
  assert.equal(orphan.code, "tool_unknown");
  assert.match(orphan.message, /program \(acme\)/);
});

Deno.test("governance never lets another implementation need less than the tool itself (DM-3)", () => {
  const strict = sourceOf("runtime", [
    toolOf("read_file", { capability: "fs.read", riskLevel: "high", approvalPolicy: "prompt" }),
  ]);
  const loose = program([toolOf("read_file", { version: "7", parallelSafe: true })], {
    role: "implementations",
  });
  const [entry] = entriesOf({
    sources: [strict, loose],
    implementations: { read_file: otherRef },
    overrides: { read_file: { risk: "low", approval_policy: "auto" } },
    policy: { implementations: { read_file: [otherRef] } },
  });
  const { capability, riskLevel, approvalPolicy, parallelSafe, sideEffects, effectClass } =
    entry?.definition ??
      assert.fail();
  assert.deepEqual([capability, riskLevel, approvalPolicy, parallelSafe], [
    "fs.read",
    "high",
    "prompt",
    false,
  ]);
  // A third party's word that it only reads counts for nothing.
  assert.deepEqual([sideEffects, effectClass], [true, "non_idempotent"]);
});

Deno.test("governance has one runner for each of the five source kinds, and none for others (CM-28, CM-29)", () => {
  assert.deepEqual(SourceKind.options.map((kind) => [kind, runnerOf(kind)]), [
    ["troupe", "builtin"],
    ["runtime", "builtin"],
    ["agent", "authored"],
    ["program", "program"],
    ["mcp", "mcp"],
  ]);
  assert.throws(() => CatalogSource.parse({ ...remote, kind: "plugin" }), /kind/);
  // What a source says of its own adapter is not what runs it.
  assert.equal(
    entriesOf({ tools: [], sources: [sourceOf("mcp", [toolOf("search")], { adapter: "builtin" })] })[0]
      ?.adapter,
    "mcp",
  );
});

Deno.test("governance tells the kinds of calls apart, whatever an untrusted source says of its tools (CM-7)", () => {
  const kinds = entriesOf({
    sources: [
      own,
      builtIn,
      remote,
      sourceOf("troupe", [toolOf("subagent_list"), toolOf("subagent_spawn", { sideEffects: true })]),
    ],
    tools: ["tools_list", "read_file", "subagent_list", "subagent_spawn"],
  }).map(({ canonicalName, toolKind }) => [canonicalName, toolKind]);
  assert.deepEqual(Object.fromEntries(kinds), {
    "mcp.docs.search": "effect_intent",
    read_file: "agent_observation",
    subagent_list: "agent_observation",
    subagent_spawn: "effect_intent",
    tools_list: "kernel_primitive",
  });
});

function isParallel(overlays: readonly Json[], changes: Omit<Sketch, "sources"> = {}): boolean | undefined {
  const entries = entriesOf({ sources: [builtIn, remote], overlays, ...changes });
  return entries.find(({ sourceKind }) => sourceKind === "mcp")?.definition.parallelSafe;
}

const yes = { parallel_safe: true };

Deno.test("overlay widens parallel calls only where every key of its match is equal and not empty (CM-84, CM-85, CM-132)", () => {
  assert.equal(isParallel([]), false);
  assert.equal(isParallel([{ match: {}, execution_policy: yes }]), false);
  assert.equal(isParallel([{ match: { tool_source: "mcp" }, execution_policy: yes }]), true);
  assert.equal(isParallel([{ match: { tool_source: "runtime" }, execution_policy: yes }]), false);
  assert.equal(
    isParallel([{ match: { server_slug: "docs", tool_name: "search" }, execution_policy: yes }]),
    true,
  );
  assert.equal(
    isParallel([{ match: { server_slug: "docs", tool_name: "find" }, execution_policy: yes }]),
    false,
  );
  assert.equal(isParallel([{ match: { server_slug: "" }, execution_policy: yes }]), false);
  assert.equal(isParallel([{ match: { tool_kind: "effect_intent" }, execution_policy: yes }]), true);
  assert.equal(isParallel([{ match: { no_such_field: "x" }, execution_policy: yes }]), false);
  assert.equal(isParallel([{ match: { constructor: "x" }, execution_policy: yes }]), false);
  const both = [
    { match: { tool_source: "mcp" }, execution_policy: yes },
    { match: { tool_name: "search" }, execution_policy: { parallel_safe: false } },
  ];
  assert.equal(isParallel(both), false);
  assert.equal(isParallel([...both].reverse()), true);
  // What is said of this very tool counts last.
  const overrides = { "mcp.docs.search": { execution_policy: { parallel_safe: false } } };
  assert.equal(isParallel([{ match: { tool_source: "mcp" }, execution_policy: yes }], { overrides }), false);
});

Deno.test("overlay changes how calls are carried out, never what they are (CM-86)", () => {
  const fields = { match: { tool_source: "mcp" }, execution_policy: { ...yes, input_schema: {} } };
  assert.throws(() => resolutionOf({ sources: [remote], overlays: [fields] }), /input_schema/);
  const schema = { match: { tool_source: "mcp" }, execution_policy: yes, input_schema: {} };
  assert.throws(() => resolutionOf({ sources: [remote], overlays: [schema] }), /input_schema/);
  // Nor does it widen a tool of the runtime that is not safe.
  const unsafe = sourceOf("runtime", [toolOf("read_file")]);
  const overlays = [{ match: { tool_source: "runtime" }, execution_policy: yes }];
  assert.equal(entriesOf({ sources: [unsafe], overlays })[0]?.definition.parallelSafe, false);
});

Deno.test("whoever carries out a tool whose calls are reviewed, they are reviewed; no other tool can say that its own are", () => {
  const reviewed = { review: "command", approvalPolicy: "prompt" } as const;
  const defining = sourceOf("runtime", [toolOf("terminal", reviewed)]);
  const offering = program([toolOf("terminal", { version: "7" })], { role: "implementations" });
  const policy = { implementations: { terminal: ["program/acme/terminal@7"] } };
  const [bound] = entriesOf({
    sources: [defining, offering],
    tools: ["terminal"],
    policy,
    implementations: { terminal: "program/acme/terminal@7" },
  });
  assert.deepEqual([bound?.adapter, bound?.definition.review, bound?.definition.approvalPolicy], [
    "program",
    "command",
    "prompt",
  ]);
  const [claiming] = entriesOf({ sources: [program([toolOf("quote", reviewed)])], tools: ["quote"] });
  assert.deepEqual([claiming?.definition.review, claiming?.definition.approvalPolicy], [undefined, "prompt"]);
});
