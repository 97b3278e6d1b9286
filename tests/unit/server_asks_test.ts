/** Whether a server that asks during a call is waited for as long as a person needs, and answered once. */
import assert from "node:assert/strict";
import type { AskingPlan } from "../support/asking_server.ts";
import { type McpClient, openMcpClient } from "../../src/mcp/client.ts";
import type { AnswerAsk, AskAnswer } from "../../src/mcp/server_requests.ts";
import { startChild } from "../../src/processes/child.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { createWorld, type World } from "../support/world.ts";

const script = new URL("../support/asking_server.ts", import.meta.url).pathname;
const never = new AbortController().signal;
const ask = { method: "elicitation/create", params: { message: "m", requestedSchema: { properties: {} } } };

/** Plays with a client whose calls live in a world of its own; the process has the machine's time. */
async function withAsking(
  plan: Omit<AskingPlan, "ledger">,
  play: (client: McpClient, world: World) => Promise<void>,
) {
  const folder = await Deno.makeTempDir();
  const world = createWorld();
  try {
    await Deno.writeTextFile(`${folder}/plan`, JSON.stringify({ ledger: `${folder}/ledger`, ...plan }));
    const { clock } = createSystemSeams({ log: () => {} });
    const env = { PATH: Deno.env.get("PATH") ?? "", HOME: Deno.env.get("HOME") ?? "" };
    const args = ["run", "-A", "--no-check", script, `${folder}/plan`];
    const child = startChild({ command: Deno.execPath(), args, cwd: folder, env, clock });
    try {
      const client = await openMcpClient({
        child,
        clock: world.seams.clock,
        connectMs: 30_000,
        signal: never,
        asks: {},
      });
      await play(client, world);
      await client.close();
    } finally {
      await child.close();
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function call(client: McpClient, onAsk: AnswerAsk | undefined, signal = never) {
  return client.call({
    tool: "ask",
    arguments: {},
    key: "k",
    signal,
    idleMs: 3_000,
    onProgress: () => {},
    onAsk,
  });
}

Deno.test("silence of a server counts nothing while a person is asked, and from the answer on anew (CM-34)", async () => {
  await withAsking({ asks: [[ask]] }, async (client, world) => {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<AskAnswer>();
    const result = call(client, () => {
      asked.resolve();
      return answer.promise;
    });
    await asked.promise;
    await world.advance(3_600_000);
    answer.resolve({ action: "decline" });
    assert.deepEqual(await result, {
      status: "returned",
      result: { content: [{ type: "text", text: '[{"action":"decline"}]' }] },
    });
    assert.equal(world.sleepers, 0);
  });
});

Deno.test("server that asks in a call which answers no questions is declined, and one whose call is given up is told so (CM-34)", async () => {
  await withAsking({ asks: [[ask]] }, async (client) => {
    const { status } = await call(client, undefined);
    assert.equal(status, "returned");
  });
  await withAsking({ asks: [[ask]] }, async (client, world) => {
    const stop = new AbortController();
    let isAborted = false;
    const result = call(client, ({ signal }) => {
      stop.abort();
      return new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          isAborted = true;
          resolve({ action: "cancel" });
        });
      });
    }, stop.signal);
    await new Promise((resolve) => stop.signal.addEventListener("abort", resolve));
    await world.advance(2_000);
    const { status } = await result;
    assert.ok(status === "lost" || status === "returned", status);
    await world.settle();
    assert.ok(isAborted);
  });
});
