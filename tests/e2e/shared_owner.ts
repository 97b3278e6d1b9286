/**
 * A runtime of a shared store with a short lease, started by a test as a process of its own: arguments are the address,
 * the lease in milliseconds, the file of the ledger, and `work` if it begins sessions of its own. Its tools write into the
 * ledger when they are applied; then `pay`, which must not be repeated, hangs, and so does the first `look`, which may.
 */
import { AgentDefinition } from "../../schemas/agent.ts";
import { HostPolicy } from "../../schemas/config.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { Script } from "../../schemas/script.ts";
import { openKvStore } from "../../src/journal/kv_store.ts";
import { createScriptedProvider } from "../../src/model/scripted.ts";
import { startRuntime } from "../../src/runtime.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { performersWith } from "../support/model_performers.ts";
import { sourceOf, toolFrom, type ToolSketch } from "../support/stage.ts";

const [address = "", leaseMs = "", ledger = "", role = ""] = Deno.args;
const seams = createSystemSeams({
  log: ({ event, detail }) => say(`log ${event} ${String(detail?.["root"] ?? "")}`),
});

function say(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}

async function apply(tool: string): Promise<void> {
  await Deno.writeTextFile(ledger, `${tool} by ${Deno.pid}\n`, { append: true });
  say(`applied ${tool}`);
}

const tools: readonly ToolSketch[] = [
  {
    name: "pay",
    effect: "non_idempotent",
    work: async ({ signal }) => {
      await apply("pay");
      return await hang(signal);
    },
  },
  {
    name: "look",
    effect: "idempotent",
    work: async ({ signal }) => {
      await apply("look");
      return role === "work" ? await hang(signal) : "looked";
    },
  },
];

function hang(signal: AbortSignal): Promise<string> {
  return new Promise((resolve) =>
    signal.addEventListener("abort", () => resolve("given up"), { once: true })
  );
}

const scripts: { readonly [model: string]: unknown } = {
  "scripted/pay": { answers: [{ calls: [{ tool: "pay" }] }, { text: "paid" }] },
  "scripted/look": { answers: [{ calls: [{ tool: "look" }] }, { text: "seen" }] },
  "scripted/talk": { answers: [{ text: "hello" }, { text: "still here" }] },
};
const providers = new Map(
  Object.entries(scripts).map(([name, script]) => [name, createScriptedProvider(Script.parse(script))]),
);
const runtime = await startRuntime({
  store: await openKvStore(address),
  seams,
  performers: performersWith({ tools, ledger: [], providerOf: (model) => providers.get(model) }),
  sharing: { holder: role, leaseMs: Number(leaseMs) },
  hasAnswerer: () => false,
});

function begin(script: string): Promise<RootAddress> {
  return runtime.createSession({
    agent: AgentDefinition.parse({ name: "tester", model: `scripted/${script}`, tools: ["pay", "look"] }),
    coreRevision: "core-1",
    home: "embedded:test",
    sources: [sourceOf(tools.map((sketch) => toolFrom(sketch, [])))],
    policy: HostPolicy.parse({}),
  });
}

async function talk(session: RootAddress): Promise<void> {
  const { report } = await runtime.prompt(session, "hi");
  say(`answered ${(await report).text}`);
}

if (role === "work") {
  const [pays, looks, talks] = [await begin("pay"), await begin("look"), await begin("talk")];
  say(`pay ${pays}\nlook ${looks}\ntalk ${talks}`);
  await talk(talks);
  let isAlone = true;
  runtime.watch((event) => {
    if (event.type !== "quarantined") return;
    say(`lost ${event.root} ${event.code}`);
    // What was not taken over goes on: this one had nothing to do, so nobody wanted it.
    if (isAlone && (event.root === pays || event.root === looks)) {
      talk(talks).catch((error) => say(`fault ${error}`));
    }
    if (event.root === pays || event.root === looks) isAlone = false;
  });
  for (const session of [pays, looks]) {
    const { accepted, report } = await runtime.prompt(session, "go");
    report.then(({ text }) => say(`unwatched ${text}`), ({ code }) => say(`refused ${session} ${code}`));
    await accepted();
  }
}
say("ready");
await seams.clock.sleepUntil(seams.clock.now() + 60_000);
