/** What child agents cost: a thousand of one turn each, beside a thousand sessions that nobody began but a person. */
import { AgentDefinition } from "../../schemas/agent.ts";
import { HostPolicy } from "../../schemas/config.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { ModelEvent, ModelMessage } from "../../schemas/model.ts";
import { openKvStore } from "../../src/journal/kv_store.ts";
import type { ModelProvider } from "../../src/model/provider.ts";
import { type Runtime, startRuntime } from "../../src/runtime.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { builtinSources, builtinTools } from "../../src/tools/builtin.ts";
import { progress } from "./progress.ts";
import { benchPerformers, mockModel } from "./subject.ts";
import { duration, mib, tableOf, times } from "./table.ts";

/** One side at one size. Times in milliseconds, sizes in bytes. */
export interface CrowdFigures {
  readonly count: number;
  readonly totalMs: number;
  readonly heapBytes: number;
  readonly storeBytes: number;
}

/** Both sides at every size. */
export interface ChildrenFigures {
  readonly children: readonly CrowdFigures[];
  readonly sessions: readonly CrowdFigures[];
}

/** As many as one turn may begin. */
const perTurn = 4;
/** What parents are prompted with: every other prompt is answered at once. */
const order = "delegate";

const model: ModelProvider = { ...mockModel, generate: ({ messages }) => answer(messages) };

async function* answer(messages: readonly ModelMessage[]): AsyncIterable<ModelEvent> {
  const last = messages.at(-1);
  const isOrder = last?.role === "user" && last.text === order;
  for (let index = 0; isOrder && index < perTurn; index++) {
    const goal = { goal: `part ${index}` };
    yield { type: "tool_call_done", callId: `call-${index}`, name: "delegate_task", arguments: goal };
  }
  if (!isOrder) yield { type: "text_delta", text: "Done" };
  yield { type: "usage", usage: { inputTokens: 10, outputTokens: 10 } };
  yield { type: "done", finishReason: isOrder ? "tool_calls" : "stop" };
}

async function withRuntime<T>(work: (runtime: Runtime, folder: string) => Promise<T>): Promise<T> {
  const folder = await Deno.makeTempDir({ prefix: "troupe-bench-children-" });
  const seams = createSystemSeams({ log: (event) => console.error(JSON.stringify(event)) });
  const store = await openKvStore(`${folder}/store.db`, { log: seams.log });
  const runtime = await startRuntime({
    store,
    seams,
    performers: (services) => benchPerformers(services, { model, offered: [...builtinTools.values()] }),
    awakeMax: 50,
  });
  try {
    return await work(runtime, folder);
  } finally {
    await runtime.stop();
    await Deno.remove(folder, { recursive: true });
  }
}

function beginSession(runtime: Runtime): Promise<RootAddress> {
  return runtime.createSession({
    agent: AgentDefinition.parse({
      name: "bench",
      model: "mock/model",
      tools: ["delegate_task"],
      capabilities: ["agents.spawn:bench"],
    }),
    coreRevision: "bench",
    home: "embedded:bench",
    sources: builtinSources,
    policy: HostPolicy.parse({}),
  });
}

async function turn(runtime: Runtime, session: RootAddress, text: string): Promise<void> {
  const { report } = await runtime.prompt(session, text);
  const { outcome, failure } = await report;
  if (outcome !== "completed") throw new Error(`The turn ${outcome}: ${failure?.message}`);
}

async function measure(count: number, work: (runtime: Runtime) => Promise<void>): Promise<CrowdFigures> {
  return await withRuntime(async (runtime, folder) => {
    const heap = Deno.memoryUsage().heapUsed;
    const startMs = performance.now();
    await work(runtime);
    await runtime.rest();
    const totalMs = performance.now() - startMs;
    const heapBytes = Deno.memoryUsage().heapUsed - heap;
    let storeBytes = 0;
    for await (const { name } of Deno.readDir(folder)) {
      storeBytes += (await Deno.stat(`${folder}/${name}`)).size;
    }
    return { count, totalMs, heapBytes, storeBytes };
  });
}

/** Parents of two turns each, so that no one conversation grows; ten at once. */
async function beginChildren(runtime: Runtime, count: number): Promise<void> {
  const parents = Math.ceil(count / perTurn / 2);
  await inTens(parents, async () => {
    const parent = await beginSession(runtime);
    for (let at = 0; at < 2; at++) await turn(runtime, parent, order);
  });
  const children = runtime.listRoots().filter(({ kind }) => kind === "session").length - parents;
  if (children < count) throw new Error(`Only ${children} of ${count} children were begun`);
}

async function beginSessions(runtime: Runtime, count: number): Promise<void> {
  await inTens(count, async () => await turn(runtime, await beginSession(runtime), "part"));
}

async function inTens(count: number, work: () => Promise<void>): Promise<void> {
  let left = count;
  const one = async () => {
    while (left-- > 0) await work();
  };
  await Promise.all(Array.from({ length: 10 }, one));
}

/** Runs both sides at growing sizes, one after the other. */
export async function runChildrenRounds(largest: number): Promise<ChildrenFigures> {
  const [children, sessions]: [CrowdFigures[], CrowdFigures[]] = [[], []];
  for (const count of [largest / 4, largest / 2, largest]) {
    progress(`${count} children, and as many sessions`);
    children.push(await measure(count, (runtime) => beginChildren(runtime, count)));
    sessions.push(await measure(count, (runtime) => beginSessions(runtime, count)));
  }
  progress("");
  return { children, sessions };
}

/** The figures as text. */
export function childrenText({ children, sessions }: ChildrenFigures): string {
  const row = (name: string, { count, totalMs, heapBytes, storeBytes }: CrowdFigures) => [
    `${count} ${name}`,
    duration(totalMs),
    duration(totalMs / count),
    mib(heapBytes),
    mib(storeBytes),
  ];
  const rows = children.flatMap((child, at) => {
    const session = sessions[at];
    return session === undefined ? [] : [row("children", child), row("sessions", session)];
  });
  const [first, last] = [children[0], children.at(-1)];
  const each = (figures: CrowdFigures | undefined) =>
    figures === undefined ? NaN : figures.totalMs / figures.count;
  return `${tableOf(["of one turn each", "in all", "each", "heap grew by", "store"], rows)}\n` +
    `A child of the largest crowd takes ${times(each(last) / each(first))} one of the smallest, and ` +
    `${times(each(last) / each(sessions.at(-1)))} a session`;
}
