/** What many tools and many servers cost: how long the loop stands still, and whether one hung server delays the others. */
import { connectionAddress } from "../../schemas/ids.ts";
import { McpManifest } from "../../schemas/manifest.ts";
import { declareServer } from "../../src/host/declare.ts";
import { createMcpConnection } from "../../src/effects/mcp_connection.ts";
import { createDoorRedactor } from "../../src/effects/clean.ts";
import { PinStore } from "../../src/host/pins.ts";
import { Connections } from "../../src/mcp/connections.ts";
import { PrivateHomes } from "../../src/mcp/private_homes.ts";
import { ProcessRegistry } from "../../src/processes/registry.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { openSdkClient } from "./mcp_bare.ts";
import { program } from "./mcp_case.ts";
import { progress } from "./progress.ts";
import { median } from "./statistics.ts";
import { duration, times } from "./table.ts";

/** Medians of the rounds, in milliseconds, and ratios of the same rounds. */
export interface ScaleFigures {
  readonly tools: number;
  /** From the question to the listing, and the longest time in between for which nothing else could run. */
  readonly list: { readonly ours: Spell; readonly sdk: Spell };
  /** Until nine servers are ready: alone, and beside a tenth that says nothing. */
  readonly nineMs: number;
  readonly besideHungMs: number;
  readonly hungRatio: number;
}

/** How long something took, and how long the loop stood still in it at most. */
export interface Spell {
  readonly ms: number;
  readonly gapMs: number;
}

const toolsMany = 1_000;
const serversMany = 9;

/** Measures a piece of work while a ticker says when the loop comes round. */
async function spellOf(work: () => Promise<unknown>): Promise<Spell> {
  let [last, gapMs] = [performance.now(), 0];
  const tick = () => {
    const now = performance.now();
    gapMs = Math.max(gapMs, now - last);
    last = now;
  };
  const ticker = setInterval(tick, 1);
  const startMs = performance.now();
  try {
    await work();
    tick();
  } finally {
    clearInterval(ticker);
  }
  return { ms: performance.now() - startMs, gapMs };
}

/** Everything that a connection needs, in a folder of its own. */
class Ground {
  readonly #seams = createSystemSeams({ log: () => {} });
  readonly #folder = Deno.makeTempDirSync({ prefix: "troupe-bench-scale-" });
  readonly #registry = new ProcessRegistry({ store: ":memory:", runId: "scale", ...this.#seams });
  readonly #homes = new PrivateHomes(":memory:");
  readonly #connections = new Connections({
    registry: this.#registry,
    clock: this.#seams.clock,
    env: (name) => Deno.env.get(name),
    homes: this.#homes,
    self: { command: Deno.execPath(), args: [], env: {} },
    fetch,
  });

  /** Starts a server of the bench with more arguments; resolves once it is ready. */
  async open(server: string, args: readonly string[], signal: AbortSignal) {
    const { clock, digest } = this.#seams;
    const manifest = McpManifest.parse({ command: program.command, args: [...program.args, ...args] });
    const loaded = { server, manifest, folder: this.#folder, origin: `mcp/${server}.yaml` };
    const declaration = await declareServer(loaded, {
      workspace: this.#folder,
      policy: { connect: "prompt" },
      capabilities: ["mcp.connect:*"],
      secrets: new Set(),
      digest,
      trustOf: () => Promise.resolve("third_party"),
    });
    const root = connectionAddress(server, "session/ses_1");
    const order = {
      root,
      launch: 1,
      declaration,
      deadlineAtMs: clock.now() + 60_000,
      signal,
      onNotice: () => {},
    };
    const made = await this.#connections.connect(order);
    if ("code" in made && !signal.aborted) throw new Error(made.message);
    return { root, declaration };
  }

  /** Lists as a connection does: reads, checks, pins and keeps every tool. */
  async list({ root, declaration }: Awaited<ReturnType<Ground["open"]>>): Promise<void> {
    const performers = createMcpConnection({
      connections: this.#connections,
      seams: this.#seams,
      redactor: createDoorRedactor(),
      putBlob: () => {},
      pins: new PinStore(undefined),
    });
    const { signal } = new AbortController();
    const request = { port: "mcp.list", effect: "idempotent", args: { declaration, launch: 1 } } as const;
    const given = { root, id: "1.0", key: "1.0", attempt: 1, request, signal, report: () => {} };
    const listed = await performers["mcp.list"](given);
    if (listed.status !== "ok") throw new Error(listed.failure.message);
  }

  async close(): Promise<void> {
    this.#registry.killAll();
    await this.#registry.closeAll();
    await this.#homes.release();
    await Deno.remove(this.#folder, { recursive: true });
  }
}

async function listOurs(): Promise<Spell> {
  const ground = new Ground();
  try {
    const opened = await ground.open("many", ["--tools", String(toolsMany)], new AbortController().signal);
    return await spellOf(() => ground.list(opened));
  } finally {
    await ground.close();
  }
}

async function listBySdk(): Promise<Spell> {
  const client = await openSdkClient(["--tools", String(toolsMany)]);
  try {
    return await spellOf(() => client.listTools());
  } finally {
    await client.close();
  }
}

/** Milliseconds until nine servers are ready that were asked for behind a tenth, if that is there. */
async function nineReady(isOneHung: boolean): Promise<number> {
  const ground = new Ground();
  const [enough, forever] = [new AbortController(), new AbortController().signal];
  const startMs = performance.now();
  const hung = isOneHung ? ground.open("hung", ["--silent"], enough.signal) : Promise.resolve();
  try {
    await Promise.all(Array.from({ length: serversMany }, (_, at) => ground.open(`nine${at}`, [], forever)));
    return performance.now() - startMs;
  } finally {
    enough.abort();
    await hung;
    await ground.close();
  }
}

/** Runs all of it so often, each side in turn. */
export async function runScaleRounds(rounds: number): Promise<ScaleFigures> {
  const [ours, sdk]: [Spell[], Spell[]] = [[], []];
  const nine: { readonly alone: number; readonly beside: number }[] = [];
  for (let round = -1; round < rounds; round++) {
    progress(`many tools and servers, round ${Math.max(0, round) + 1} of ${rounds}`);
    const found = [await listOurs(), await listBySdk()] as const;
    const both = { alone: await nineReady(false), beside: await nineReady(true) };
    if (round < 0) continue;
    ours.push(found[0]);
    sdk.push(found[1]);
    nine.push(both);
  }
  progress("");
  const middle = (spells: readonly Spell[]): Spell => ({
    ms: median(spells.map(({ ms }) => ms)),
    gapMs: median(spells.map(({ gapMs }) => gapMs)),
  });
  return {
    tools: toolsMany,
    list: { ours: middle(ours), sdk: middle(sdk) },
    nineMs: median(nine.map(({ alone }) => alone)),
    besideHungMs: median(nine.map(({ beside }) => beside)),
    hungRatio: median(nine.map(({ alone, beside }) => beside / alone)),
  };
}

/** The figures as text. */
export function scaleText(
  { tools, list: { ours, sdk }, nineMs, besideHungMs, hungRatio }: ScaleFigures,
): string {
  return [
    `${tools} tools listed, checked, pinned and kept: ${duration(ours.ms)}, the loop stands still for ` +
    `${duration(ours.gapMs)} at most; listed by the SDK: ${duration(sdk.ms)}, ${duration(sdk.gapMs)}`,
    `Nine servers ready: ${duration(nineMs)}; beside a tenth that says nothing: ${duration(besideHungMs)}, ` +
    times(hungRatio),
  ].join("\n");
}
