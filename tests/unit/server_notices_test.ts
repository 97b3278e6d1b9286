/** What a server says unasked: one change is one change, and a log has its bounds. */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { ServerNotices } from "../../src/mcp/server_notices.ts";

/** Notices of a server that says what the test says. */
function listen() {
  const notices = new ServerNotices();
  const say = (method: string, params: { readonly [key: string]: unknown } = {}) =>
    notices.take({ method: `notifications/${method}`, params });
  return { notices, say, log: (data: unknown, level = "info") => say("message", { level, data }) };
}

Deno.test("server notices take a change of tools, resources or prompts for one and the same", async () => {
  for (const list of ["tools", "resources", "prompts"]) {
    const { notices, say } = listen();
    notices.listing();
    say(`${list}/list_changed`);
    await notices.changed();
    notices.listing();
    const next = await Promise.race([notices.changed().then(() => "changed"), Promise.resolve("nothing")]);
    assert.equal(next, "nothing");
  }
});

Deno.test("server notices show a log with the call that began last, and keep the rest", async () => {
  const { notices, log } = listen();
  log("before");
  const shown: string[] = [];
  const first = Promise.withResolvers<void>();
  const running = notices.during((line) => shown.push(`1 ${line}`), () => first.promise);
  log({ a: "b" }, "error");
  await notices.during((line) => shown.push(`2 ${line}`), () => Promise.resolve(log("both")));
  log("again\u202e\n");
  first.resolve();
  await running;
  log("after");
  assert.deepEqual(shown, ['1 [error] {"a":"b"}', "2 [info] both", "1 [info] again\\u{202e}"]);
  assert.equal(notices.log(1_000), "[info] before\n[info] after");
});

Deno.test("server notices bound what is shown of a call, a line, and what is kept", async () => {
  const { notices, log } = listen();
  const shown: string[] = [];
  await notices.during((line) => shown.push(line), () => {
    for (let index = 0; index < limits.mcpLogShownMax + 300; index++) log(`${index}`);
    return Promise.resolve();
  });
  assert.equal(shown.length, limits.mcpLogShownMax);
  const kept = notices.log(Infinity).split("\n");
  assert.deepEqual([kept.length, kept[0], kept.at(-1)], [200, "[info] 1100", "[info] 1299"]);
  log("x".repeat(1_000_000));
  assert.equal(notices.log(Infinity).split("\n").at(-1)?.length, 500);
  assert.equal(notices.log(40).length, 40);
});

Deno.test("server notices tell of a task to whoever waits for it, once for each time that they wait", async () => {
  const { notices, say } = listen();
  const { signal } = new AbortController();
  const told: string[] = [];
  const wait = (task: string) => notices.taskTold(task, signal).then(() => told.push(task));
  const both = [wait("a"), wait("a"), wait("b")];
  say("tasks/status", { taskId: "other", status: "working" });
  say("tasks/status", { taskId: "a", status: "completed" });
  await Promise.all(both.slice(0, 2));
  assert.deepEqual(told, ["a", "a"]);
  say("tasks/status", { taskId: "a", status: "completed" });
  say("tasks", { taskId: "b", status: "working" });
  await both[2];
  assert.deepEqual(told, ["a", "a", "b"]);
});
