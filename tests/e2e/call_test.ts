/** One tool called from the command line, without a model: the same gates and the same records as a model's call. */
import assert from "node:assert/strict";
import { CheckFailedError, reportError } from "../../src/cli/exit.ts";
import {
  bodiesOf,
  entriesOf,
  type Line,
  onMcpStage,
  planned,
  sessionIn,
  trustAgent,
  writeMcpAgent,
} from "./mcp_stage.ts";
import { assertRefused, linesOf, onStage, type Stage } from "./troupe.ts";

/** An agent with two profiles: only `reader` may read. Its model has nothing to say. */
async function writeAgent(stage: Stage, host = "{}"): Promise<void> {
  await stage.write({
    "agent/agent.yaml": JSON.stringify({
      name: "clerk",
      model: "scripted/script.yaml",
      tools: ["read_file", "list_files"],
      capabilities: ["fs.read"],
      profiles: {
        main: { allowed_tool_names: ["list_files"] },
        reader: { allowed_tool_names: ["read_file", "list_files"] },
      },
    }),
    "agent/script.yaml": "answers: []\n",
    "ws/a.txt": "alpha\n",
    "config/troupe/troupe.yaml": host,
  });
}

const list = ["call", "agent", "list_files", "--workspace", "ws"];
const read = ["call", "agent", "read_file", `{"path":"a.txt"}`, "--workspace", "ws"];

async function recordsOf(stage: Stage, session: string): Promise<Line> {
  const [records] = linesOf(await stage.output("inspect", session, "--json"));
  assert.ok(records);
  return records;
}

Deno.test("call runs one tool through freeze, start and complete, and inspect shows how it was governed (CM-30, CM-56)", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage);
    const called = await stage.run(...list);
    assert.equal(called.code, 0, called.err);
    assert.equal(called.out, "a.txt\n");
    const session = sessionIn(called);
    const entries = await entriesOf(stage, session);
    const [bound, ...others] = bodiesOf(entries, "note", "tools.bound");
    assert.deepEqual([bound?.["execution"], bound?.["call"], others.length], ["turn/1", "list_files", 0]);
    assert.equal(bodiesOf(entries, "intent", "model.generate").length, 0);
    const { definitions, bindings, invocations, implementations, problems } = await recordsOf(stage, session);
    assert.deepEqual(problems, []);
    const [definition] = (definitions as Line[]).filter(({ toolName }) => toolName === "list_files");
    assert.equal(definition?.["governance"], "whitelist_only");
    const [invocation, ...more] = invocations as Line[];
    assert.equal(more.length, 0);
    assert.deepEqual([invocation?.["status"], invocation?.["definition"]], ["succeeded", definition?.["id"]]);
    const binding = (bindings as Line[]).find(({ id }) => id === invocation?.["binding"]);
    const implementation = (implementations as Line[]).find(({ id }) => id === binding?.["implementation"]);
    assert.equal(implementation?.["reference"], "runtime/list_files@1");
    assert.match(
      await stage.output("inspect", session),
      /^list_files +agent_observation +trusted_local +whitelist_only /m,
    );
    assert.match(await stage.output("replay", session), /no divergence/i);
  });
});

Deno.test("call and run see the tools of their profile, and no others (CM-50)", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage);
    const hidden = await stage.run(...read);
    assertRefused(hidden, 1, "tool_not_visible", `the profile "main"`);
    const session = sessionIn(hidden);
    const { bindings, definitions, invocations } = await recordsOf(stage, session);
    const bound = (bindings as Line[]).map(({ definition }) =>
      (definitions as Line[]).find(({ id }) => id === definition)?.["toolName"]
    );
    assert.deepEqual(bound, ["list_files"], "what is not visible is not bound");
    assert.deepEqual(invocations, []);
    assert.equal(await stage.output(...read, "--profile", "reader"), "alpha\n\n");
    assertRefused(await stage.run(...read, "--profile", "writer"), 2, "profile_unknown", "main, reader");
  });
});

Deno.test("call with a key that the session knows yields what it yielded, and calls nothing again (CM-57, CM-63)", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage);
    const session = sessionIn(await stage.run(...list));
    const again = ["call", "agent", "list_files", "--session", session, "--key", "once"];
    assert.equal(await stage.output(...again), "a.txt\n");
    await stage.write({ "ws/b.txt": "beta\n" });
    assert.equal(await stage.output(...again), "a.txt\n", "the call that was made, not another one");
    assert.equal(await stage.output("call", "agent", "list_files", "--session", session), "a.txt\nb.txt\n");
    const other = ["call", "agent", "list_files", `{"path":"."}`, "--session", session, "--key", "once"];
    assertRefused(await stage.run(...other), 2, "idempotency_key_reuse", "once");
    const { invocations } = await recordsOf(stage, session);
    const [first, second, third] = invocations as Line[];
    for (const one of [first, second, third]) assert.equal(one?.["status"], "succeeded");
    assert.equal((invocations as Line[]).length, 3);
    assert.equal(second?.["key"], "once");
    assert.notEqual(first?.["key"], third?.["key"], "a call without a key gets one of its own");
  });
});

Deno.test("call is asked about and refused as a model's call is", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage, `policy: { tools: { list_files: prompt } }\n`);
    assertRefused(await stage.run(...list, "--answer", "deny"), 1, "approval_denied");
    assert.equal(await stage.output(...list, "--answer", "allow"), "a.txt\n");
    assertRefused(await stage.run("call", "agent", "gone", "--workspace", "ws"), 1, "tool_unknown", "gone");
    assertRefused(await stage.run(...list.slice(0, 3), "{path: 1}"), 2, "argument_invalid", "JSON object");
    assertRefused(
      await stage.run(...list.slice(0, 3), `{"other":1}`, "--workspace", "ws"),
      1,
      "arguments_invalid",
    );
    assertRefused(await stage.run(...list, "--key", "x"), 2, "option_invalid", "--session");
  });
});

Deno.test("call of a server's tool has the same records as any other, and no second world (CM-130)", async () => {
  await onMcpStage(async (stage) => {
    await writeMcpAgent(stage, { servers: { docs: planned(stage, { name: "docs" }) }, answers: [] });
    await stage.output(...trustAgent);
    const called = await stage.run("call", "agent", "mcp.docs.search", "{}", "--workspace", "ws");
    assert.equal(called.code, 0, called.err);
    const { sources, definitions, implementations, bindings, invocations, problems } = await recordsOf(
      stage,
      sessionIn(called),
    );
    assert.deepEqual(problems, []);
    const [invocation] = invocations as Line[];
    const find = (records: unknown, id: unknown) => (records as Line[]).find((one) => one["id"] === id);
    const binding = find(bindings, invocation?.["binding"]);
    const definition = find(definitions, binding?.["definition"]);
    const implementation = find(implementations, binding?.["implementation"]);
    const source = find(sources, implementation?.["source"]);
    assert.deepEqual([definition?.["toolName"], definition?.["governance"]], [
      "mcp.docs.search",
      "replaceable",
    ]);
    assert.deepEqual([source?.["kind"], source?.["reference"]], ["mcp", implementation?.["reference"]]);
    assert.deepEqual([invocation?.["status"], invocation?.["attempt"]], ["succeeded", 1]);
  });
});

Deno.test("inspect says so where nothing is bound yet, and where there is no session", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage);
    assertRefused(await stage.run("inspect", "last"), 2, "store_not_found");
    await stage.output(...list);
    assertRefused(await stage.run("inspect", "gone"), 2, "root_not_found", "gone");
  });
});

Deno.test("inspect exits with 3 where records do not agree", () => {
  const { exit, code } = reportError(new CheckFailedError("records_inconsistent", "x"));
  assert.deepEqual([exit, code], [3, "records_inconsistent"]);
});
