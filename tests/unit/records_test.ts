/** The records of governance, read off the journals of real runs, and checked with one thing wrong at a time. */
import assert from "node:assert/strict";
import { checkRecords, type RecordProblem } from "../../actors/record_check.ts";
import type { CatalogSource } from "../../schemas/catalog.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { ToolRecords } from "../../schemas/record.ts";
import { InvocationFold } from "../../src/records/invocation_fold.ts";
import { readRecords } from "../../src/records/session_records.ts";
import { toolOf } from "../support/desk.ts";
import { openStage, settled, type Stage, type ToolSketch } from "../support/stage.ts";

const look: ToolSketch = { name: "look" };
const count: ToolSketch = { name: "count" };
const refuse: ToolSketch = {
  name: "refuse",
  work: () => Promise.resolve({ ok: false, content: [], isError: true, attachments: [] }),
};

/** A program that implements `count` in another way. */
const other: CatalogSource = {
  kind: "program",
  role: "implementations",
  provenance: { source: "program", origin: "acme", trust: "third_party" },
  adapter: "program",
  remote: false,
  tools: [toolOf("count", { version: "7" })],
};
const otherRef = "program/acme/count@7";

const answers = [
  { calls: [{ tool: "look", arguments: { text: "a" } }, { tool: "refuse", arguments: {} }] },
  { calls: [{ tool: "look", arguments: { text: "b" } }, { tool: "gone", arguments: {} }] },
  { text: "One." },
  { text: "Two." },
];

/** A session with two turns of a model and one call of a host; `count` is bound to another implementation. */
async function session(): Promise<{ readonly stage: Stage; readonly address: `session/${string}` }> {
  const stage = await openStage({
    answers,
    tools: [look, count, refuse],
    agent: { implementations: { count: otherRef } },
    policy: { implementations: { count: [otherRef] } },
    sources: [other],
  });
  const address = await stage.session();
  for (const text of ["First", "Second"]) {
    await settled(stage.world, (await settled(stage.world, stage.runtime.prompt(address, text))).report);
  }
  const given = { tool: "look", arguments: { text: "c" } };
  await settled(stage.world, (await settled(stage.world, stage.runtime.call(address, given, "once"))).report);
  return { stage, address: address as `session/${string}` };
}

function recordsOf(stage: Stage, address: `session/${string}`): Promise<ToolRecords> {
  const { journal } = stage.runtime;
  const reading = readRecords({
    session: address as never,
    pages: journal.readPages(address as never),
    readBlob: (digest) => journal.readBlob(digest),
    digest: stage.world.seams.digest,
  });
  return settled(stage.world, reading);
}

async function recordsOfSession(): Promise<ToolRecords> {
  const { stage, address } = await session();
  return await recordsOf(stage, address);
}

/** Records that may be changed: what a test does to one is done to no other. */
// deno-lint-ignore no-explicit-any -- whatever is wrong can be written into them
type Loose = { [K in keyof ToolRecords]: any[] };

function changed(records: ToolRecords, change: (loose: Loose) => void): readonly RecordProblem[] {
  const copy = structuredClone(records) as unknown as Loose;
  change(copy);
  return checkRecords(copy as unknown as ToolRecords);
}

Deno.test("records of a session are the five kinds, and agree (CM-1, CM-5, CM-8, CM-10, CM-15)", async () => {
  const records = await recordsOfSession();
  assert.deepEqual(checkRecords(records), []);
  const names = records.definitions.map(({ toolName, toolKind, governance }) =>
    [toolName, toolKind, governance].join(" ")
  );
  assert.deepEqual(names, [
    "count effect_intent whitelist_only",
    "look agent_observation whitelist_only",
    "refuse agent_observation whitelist_only",
  ]);
  const { implementations, sources } = records;
  assert.deepEqual(
    implementations.map(({ reference, isDefault, isApproved }) => ({ reference, isDefault, isApproved })),
    [
      { reference: "runtime/count@1", isDefault: true, isApproved: true },
      { reference: otherRef, isDefault: false, isApproved: true },
      { reference: "runtime/look@1", isDefault: true, isApproved: true },
      { reference: "runtime/refuse@1", isDefault: true, isApproved: true },
    ],
  );
  assert.deepEqual(sources.map(({ kind, reference }) => [kind, reference]), [
    ["runtime", "local"],
    ["program", "program:acme"],
  ]);
  const [first] = implementations;
  assert.ok(first);
  assert.equal(first.streaming, false);
  assert.equal(first.idempotency, "idempotent");
  assert.equal(first.inputSchema["type"], "object");
});

Deno.test("records have one binding for every tool of every turn, and it is not written again for a later one (CM-11, CM-13, CM-48, CM-49, CM-52, CM-54)", async () => {
  const { definitions, implementations, bindings } = await recordsOfSession();
  assert.equal(bindings.length, 9, "three turns with three tools each");
  assert.equal(definitions.length, 3);
  assert.equal(new Set(bindings.map(({ execution }) => execution)).size, 3);
  const count = definitions.find(({ toolName }) => toolName === "count");
  const own = bindings.filter(({ definition }) => definition === count?.id);
  const bound = implementations.find(({ reference }) => reference === otherRef);
  assert.ok(count && bound);
  for (const binding of own) {
    assert.deepEqual([binding.implementation, binding.reason], [bound.id, "explicit_override"]);
    const { agent_version, governance, execution_policy, catalog, entry } = binding.payload;
    assert.deepEqual([agent_version, governance, execution_policy], ["core-1", "whitelist_only", {
      parallel_safe: false,
    }]);
    assert.match(`${catalog}`, /^sha256:/);
    assert.match(`${entry}`, /^sha256:/);
  }
});

Deno.test("records of calls say what was asked and what came; calls of a binding are numbered (CM-15, CM-16, CM-17, CM-55)", async () => {
  const { invocations, definitions } = await recordsOfSession();
  const names = new Map(definitions.map(({ id, toolName }) => [id, toolName]));
  const told = invocations.map(({ definition, attempt, status, outcome, key, request, execution }) =>
    [
      names.get(definition),
      attempt,
      status,
      outcome,
      key,
      JSON.stringify(request["arguments"]),
      execution?.split("/").at(-1),
    ].join(" ")
  );
  assert.deepEqual(told, [
    `look 1 succeeded succeeded 0/call_1_1 {"text":"a"} 1`,
    `refuse 1 failed completed_with_error 0/call_1_2 {} 1`,
    `look 2 succeeded succeeded 1/call_2_1 {"text":"b"} 1`,
    `look 1 succeeded succeeded once {"text":"c"} 3`,
  ]);
  for (const { startedAt, finishedAt, response } of invocations) {
    assert.ok(finishedAt !== null && finishedAt >= startedAt);
    assert.ok("isError" in response);
  }
});

Deno.test("records have no call of a tool that the turn is not bound to: it is not found (CM-31)", async () => {
  const { stage, address } = await session();
  const records = await recordsOf(stage, address);
  assert.equal(records.invocations.some(({ request }) => request["tool_name"] === "gone"), false);
  const fold = new InvocationFold();
  for (const entry of await stage.entries(address as never)) fold.take(entry);
  const row = fold.rows.find(({ tool }) => tool === "gone");
  assert.deepEqual([row?.outcome, row?.attempts], ["not_found", 0]);
});

Deno.test("records of one journal have the same opaque ids wherever they are read (CM-19)", async () => {
  const { stage, address } = await session();
  const [one, two] = [await recordsOf(stage, address), await recordsOf(stage, address)];
  assert.deepEqual(one, two);
  const ids = Object.values(one).flatMap((list) => list.map(({ id }: { id: string }) => id));
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) assert.match(id, /^(src|def|imp|bnd|inv)_[0-9A-HJKMNP-TV-Z]{26}$/);
});

/** Every field of every record that names another record, by its path. */
function referencesIn(records: ToolRecords): readonly (readonly [keyof ToolRecords, number, string])[] {
  const fields = ["source", "definition", "implementation", "binding"];
  return (Object.keys(records) as (keyof ToolRecords)[]).flatMap((kind) =>
    records[kind].flatMap((record, at) =>
      fields.filter((field) => field in record).map((field) => [kind, at, field] as const)
    )
  );
}

const kindOf: { readonly [field: string]: keyof ToolRecords } = {
  source: "sources",
  definition: "definitions",
  implementation: "implementations",
  binding: "bindings",
};

Deno.test("records are refused with any one reference that leads nowhere, or to another record of its kind (CM-2, CM-4)", async () => {
  const records = await recordsOfSession();
  let checks = 0;
  for (const [kind, at, field] of referencesIn(records)) {
    const record = records[kind][at] as unknown as JsonObject;
    const own = String(record[field]);
    const others = records[kindOf[field] ?? "sources"].map(({ id }) => id).filter((id) => id !== own);
    for (const id of [`${own.slice(0, 4)}${"0".repeat(26)}`, ...others]) {
      const problems = changed(records, (loose) => loose[kind][at][field] = id);
      assert.ok(problems.length > 0, `${kind} ${at} ${field} ${id}`);
      checks++;
    }
  }
  assert.ok(checks > 100, `${checks}`);
});

Deno.test("records are refused if one that others refer to is taken away (CM-18)", async () => {
  const records = await recordsOfSession();
  const used = new Set(
    referencesIn(records).map(([kind, at, field]) => {
      return String((records[kind][at] as unknown as JsonObject)[field]);
    }),
  );
  let removed = 0;
  for (const kind of Object.keys(records) as (keyof ToolRecords)[]) {
    for (const { id } of records[kind]) {
      if (!used.has(id)) continue;
      const problems = changed(records, (loose) => {
        loose[kind] = loose[kind].filter((one) => one.id !== id);
      });
      assert.ok(problems.length > 0, `${kind} ${id}`);
      removed++;
    }
  }
  assert.ok(removed > 10, `${removed}`);
});

/** What is done to valid records, and what must be said of it. */
const faults: { readonly [title: string]: readonly [(loose: Loose) => void, RegExp] } = {
  "an implementation of another installation": [
    ({ implementations: [one] }) => one.installation = `ins_${"1".repeat(26)}`,
    /another installation/,
  ],
  "a call of another execution than its binding's": [
    ({ invocations: [one] }) => one.execution = "session/x/turn/9",
    /its execution is not that of its binding/,
  ],
  "a call of another node than its binding's": [
    ({ invocations: [one], bindings }) => bindings.find(({ id }) => id === one.binding).node = "node/9",
    /its node is not that of its binding/,
  ],
  "a definition twice": [
    ({ definitions }) => definitions.push({ ...definitions[0], id: `def_${"2".repeat(26)}` }),
    /another definition is the same one/,
  ],
  "an implementation twice": [
    ({ implementations }) => implementations.push({ ...implementations[0], id: `imp_${"2".repeat(26)}` }),
    /another implementation is the same one/,
  ],
  "two defaults of a definition": [
    ({ implementations }) => implementations.find(({ isDefault }) => !isDefault).isDefault = true,
    /more than one default/,
  ],
  "no default of a definition": [
    ({ implementations }) => implementations.find(({ isDefault }) => isDefault).isDefault = false,
    /its definition has no default/,
  ],
  "a source twice": [
    ({ sources }) => sources.push({ ...sources[0], id: `src_${"2".repeat(26)}` }),
    /another source is the same one/,
  ],
  "a binding without an owner": [
    ({ bindings: [one] }) => one.execution = null,
    /it has no owner/,
  ],
  "a definition bound twice in an execution": [
    ({ bindings }) => bindings.push({ ...bindings[0], id: `bnd_${"2".repeat(26)}` }),
    /another binding is the same one/,
  ],
  "a binding of another version of the agent": [
    ({ bindings: [one] }) => one.agentVersion = "core-2",
    /another version of the agent/,
  ],
  "a running call with an end": [
    ({ invocations: [one] }) => one.status = "running",
    /it is running and has a time of its end/,
  ],
  "an ended call without an end": [
    ({ invocations: [one] }) => one.finishedAt = null,
    /it has ended and has no time of its end/,
  ],
  "two calls with one number": [
    ({ invocations: [one, , three] }) => three.attempt = one.attempt,
    /another attempt is the same one/,
  ],
  "two calls with one key": [
    ({ invocations: [one, , three] }) => three.key = one.key,
    /another key is the same one/,
  ],
  "a reserved tool that is bound to another implementation": [
    ({ definitions, bindings }) =>
      definitions.find(({ id }) => id === overridden(bindings).definition).governance = "reserved",
    /it must use the reserved implementation/,
  ],
  "a tool that is bound to what nobody approved": [
    ({ implementations }) => implementations.find(({ isDefault }) => !isDefault).isApproved = false,
    /it must use an approved implementation/,
  ],
};

function overridden(bindings: Loose["bindings"]) {
  return bindings.find(({ reason }) => reason === "explicit_override");
}

for (const [title, [fault, said]] of Object.entries(faults)) {
  Deno.test(`records are refused with one thing wrong: ${title} (CM-3, CM-9, CM-14, CM-16, CM-21, CM-22)`, async () => {
    const records = await recordsOfSession();
    const problems = changed(records, fault);
    assert.ok(problems.some(({ rule }) => said.test(rule)), JSON.stringify(problems));
  });
}

Deno.test("records that are no records are refused by their schema (CM-19)", async () => {
  const records = await recordsOfSession();
  const wrong = structuredClone(records) as unknown as Loose;
  wrong.bindings[0].id = "17";
  assert.equal(ToolRecords.safeParse(wrong).success, false);
});
