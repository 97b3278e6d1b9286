/** The tools that come with the runtime, as sources of the catalog. */
import assert from "node:assert/strict";
import { builtinSources, builtinTools } from "../../src/tools/builtin.ts";

// CM-92. Of the core only the list of children, and goals that are delegated side by side, each to a child of its own.
Deno.test("builtin tools run beside each other only if they read, or work in a session of their own (CM-92 as design.md section 8 decides it)", () => {
  const parallel = builtinSources.flatMap((source) =>
    source.tools.filter((tool) => tool.parallelSafe).map((tool) => `${source.kind}.${tool.name}`)
  );
  assert.deepEqual(parallel.sort(), [
    "runtime.list_files",
    "runtime.read_file",
    "runtime.search_files",
    "troupe.delegate_task",
    "troupe.subagent_list",
  ]);
});

// The table of DM-16, for the tools that are there.
const reach: {
  readonly [tool: string]: readonly [risk: string, effect: string, policy: string, capability?: string];
} = {
  list_files: ["low", "idempotent", "auto", "fs.read"],
  read_file: ["low", "idempotent", "auto", "fs.read"],
  search_files: ["low", "idempotent", "auto", "fs.read"],
  write_file: ["medium", "non_idempotent", "prompt", "fs.write"],
  patch: ["medium", "non_idempotent", "prompt", "fs.write"],
  terminal: ["high", "non_idempotent", "prompt", "terminal.exec"],
  web_extract: ["medium", "idempotent", "prompt", "network.fetch"],
  read_result: ["low", "idempotent", "auto"],
  schedule_manage: ["high", "conditional", "prompt", "schedule.manage"],
  todo: ["low", "idempotent", "auto"],
  skills_list: ["low", "idempotent", "auto"],
  skill_view: ["low", "idempotent", "auto"],
  skill_manage: ["medium", "non_idempotent", "prompt", "fs.write"],
  session_search: ["medium", "idempotent", "prompt", "session.read"],
  clarify: ["low", "idempotent", "auto"],
  task_list: ["low", "idempotent", "auto", "task.control"],
  task_status: ["low", "idempotent", "auto", "task.control"],
  task_control: ["medium", "idempotent", "auto", "task.control"],
  yield_until: ["low", "idempotent", "auto", "task.control"],
  tools_list: ["low", "idempotent", "auto"],
  // A repeat meets the same child (GA-54); which agent's children they are is said when a catalog is made.
  subagent_spawn: ["medium", "idempotent", "auto", "agents.spawn:self"],
  subagent_send: ["low", "idempotent", "auto"],
  subagent_wait: ["low", "idempotent", "auto"],
  subagent_close: ["low", "idempotent", "auto"],
  subagent_list: ["low", "idempotent", "auto"],
  delegate_task: ["medium", "idempotent", "auto", "agents.spawn:self"],
};

/** Change what children do without asking anybody: a child's own calls have their own gates. */
const aboutChildren = ["subagent_spawn", "subagent_send", "subagent_close", "delegate_task"];

Deno.test("builtin tools have the risk, the class, the approval and the capability of their table", () => {
  for (const [name, { definition }] of builtinTools) {
    const { effectClass, sideEffects, riskLevel, approvalPolicy, capability } = definition;
    const told = [riskLevel, effectClass, approvalPolicy, ...(capability === undefined ? [] : [capability])];
    assert.deepEqual(told, reach[name], name);
    // `task_control` ends what was begun under its own gates: nobody is asked, and it is no look (DM-16).
    assert.equal(
      sideEffects,
      approvalPolicy !== "auto" || name === "task_control" || aboutChildren.includes(name),
      name,
    );
  }
});

Deno.test("builtin sources offer exactly the tools that can be dispatched", () => {
  const offered = builtinSources.flatMap((source) => source.tools.map((tool) => tool.name)).sort();
  assert.deepEqual(offered, [...builtinTools.keys()].sort());
});
