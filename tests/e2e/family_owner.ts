/**
 * Holds a store at a door, with a session whose tool `wait` waits for a child agent that asks a person: started by a
 * test as a process of its own. Prints the address of the session, then `held`.
 */
import { AgentDefinition } from "../../schemas/agent.ts";
import { HostConfig, HostPolicy } from "../../schemas/config.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { localOperator } from "../../schemas/principal.ts";
import { Script } from "../../schemas/script.ts";
import type { TaskOutcome, TaskRecord } from "../../schemas/task.ts";
import { sessionsAbove } from "../../src/ancestors.ts";
import { openDoor } from "../../src/door/server.ts";
import { createTaskRun } from "../../src/effects/task_run.ts";
import { Answerers } from "../../src/host/answerers.ts";
import { createLocalHost } from "../../src/host/local_host.ts";
import { openKvStore } from "../../src/journal/kv_store.ts";
import { lockStore } from "../../src/journal/store_lock.ts";
import { createScriptedProvider } from "../../src/model/scripted.ts";
import { startRuntime } from "../../src/runtime.ts";
import { deliver } from "../../src/kernel/route.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { performersWith } from "../support/model_performers.ts";
import { sourceOf, toolFrom, type ToolSketch } from "../support/stage.ts";

const seams = createSystemSeams({ log: () => {} });
const location = Deno.args[0] ?? "";
const lock = await lockStore(location, seams.clock);
const store = await openKvStore(location, { log: seams.log });
const answerers = new Answerers();

/** The child answers once, whoever waits for it. */
let born: Promise<string> | undefined;
const tools: readonly ToolSketch[] = [
  { name: "wait", work: () => born ??= askChild() },
  { name: "ask", approval: "prompt" },
];
const models: { readonly [model: string]: unknown } = {
  "scripted/main": { answers: [{ calls: [{ tool: "wait" }] }, { text: "all is done" }] },
  "scripted/child": {
    answers: [{ calls: [{ tool: "ask", arguments: { text: "may I?" } }] }, { text: "asked" }],
  },
};
const providers = new Map(
  Object.entries(models).map(([name, script]) => [name, createScriptedProvider(Script.parse(script))]),
);
const childEnded = Promise.withResolvers<string>();
const runtime = await startRuntime({
  store,
  seams,
  performers: (services) => ({
    ...performersWith({ tools, ledger: [], providerOf: (model) => providers.get(model) })(services),
    "task.run": createTaskRun({
      "terminal.exec": (_work, { signal }) => {
        const canceled = Promise.withResolvers<TaskOutcome>();
        signal.addEventListener(
          "abort",
          () => canceled.resolve({ status: "canceled", summary: "It was canceled" }),
        );
        const ended = childEnded.promise.then((summary): TaskOutcome => ({ status: "succeeded", summary }));
        return Promise.race([ended, canceled.promise]);
      },
    }),
  }),
});
answerers.denyUnheard(runtime.questions, (root) => sessionsAbove(runtime.kernel.records, root));

function draft(name: string, tool: string) {
  return {
    agent: AgentDefinition.parse({
      name,
      model: `scripted/${name === "tester" ? "main" : "child"}`,
      tools: [tool],
    }),
    coreRevision: "core-1",
    home: "embedded:test",
    sources: [sourceOf(tools.map((sketch) => toolFrom(sketch, [])))],
    policy: HostPolicy.parse({}),
  };
}

const main: RootAddress = await runtime.createSession(draft("tester", "wait"));

async function askChild(): Promise<string> {
  const task = await runtime.tasks.open({
    owner: main,
    principal: localOperator,
    origin: { call: "call/0.0", tool: "wait" },
    title: "research",
    detached: false,
    silent: false,
    work: { kind: "terminal.exec", arguments: {}, cwd: "/" },
    key: "child",
  } as never) as TaskRecord;
  const parent = { task: task.address, session: main, path: ["tester", "research"] };
  const child = await runtime.createSession({ ...draft("research", "ask"), parent });
  const answered = Promise.withResolvers<string>();
  const stop = runtime.watch((event) => {
    if (event.type !== "entries" || event.root !== child) return;
    const told = event.entries.find(({ kind, type }) => kind === "message" && type === "session.answered");
    if (told !== undefined) answered.resolve((told.body as { message: { outcome: string } }).message.outcome);
  });
  // Only its task may prompt it (CM-107).
  const message = { type: "session.prompt", text: "Go" };
  deliver(runtime.kernel, child, { kind: "input", body: { message, sender: task.address } });
  const outcome = await answered.promise;
  stop();
  childEnded.resolve(`the child's turn ended as ${outcome}`);
  return `child ${outcome}`;
}

const host = createLocalHost({
  runtime,
  config: HostConfig.parse({}),
  answerers,
  declarer: undefined as never,
  release: () => Promise.resolve(),
} as never);
const door = await openDoor({ host, seams });
await lock.setDoor({ port: door.port, token: door.token });
console.log(`${main}\nheld`);
await seams.clock.sleepUntil(seams.clock.now() + 60_000);
