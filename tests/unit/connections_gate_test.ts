/** Whether servers of all sessions together are started a few at a time, with real processes that never answer. */
import assert from "node:assert/strict";
import { connectionAddress } from "../../schemas/ids.ts";
import { Connections, type ConnectOrder } from "../../src/mcp/connections.ts";
import { PrivateHomes } from "../../src/mcp/private_homes.ts";
import { ProcessRegistry } from "../../src/processes/registry.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { childEnv, until, within } from "../support/child_stage.ts";
import { declarationOf } from "../support/connection.ts";

const seams = createSystemSeams({ log: () => {} });

/** Processes of a runtime, with the number that lived whenever one more was asked for. */
class CountingRegistry extends ProcessRegistry {
  readonly livedAtStart: number[] = [];

  override start(options: Parameters<ProcessRegistry["start"]>[0]): ReturnType<ProcessRegistry["start"]> {
    this.livedAtStart.push(this.size);
    return super.start(options);
  }
}

/** A server of the session `ses_<n>` that reads its input, says nothing, and ends with its input. */
function order(n: number): ConnectOrder & { readonly abort: AbortController } {
  const server = `silent${n}`;
  const abort = new AbortController();
  return {
    root: connectionAddress(server, `session/ses_${n}`),
    launch: 1,
    declaration: declarationOf({
      server,
      cwd: Deno.cwd(),
      manifest: { command: "sh", args: ["-c", "cat > /dev/null"] },
    }),
    deadlineAtMs: seams.clock.now() + 30_000,
    signal: abort.signal,
    onNotice: () => {},
    abort,
  };
}

// Proves DM-57: four, whatever sessions they are of; the next begins when one has ended.
Deno.test("connections are opened four at once over all sessions, and the next when a place is free (DM-57, DM-137)", async () => {
  const registry = new CountingRegistry({ store: ":memory:", runId: "gate", ...seams });
  const self = { command: "false", args: [], env: {} };
  const env = (name: string) => name === "PATH" ? childEnv.PATH : undefined;
  const homes = new PrivateHomes(":memory:");
  const connections = new Connections({ registry, clock: seams.clock, env, homes, self, fetch });
  const orders = [1, 2, 3, 4, 5, 6].map(order);
  const made = orders.map((one) => connections.connect(one));
  try {
    await until("four servers live", () => registry.size === 4);
    // All six were asked for in one breath: the two others would have been asked for long before a process is there.
    assert.equal(registry.livedAtStart.length, 4);
    assert.deepEqual(connections.busy, orders.map(({ root }) => root));
    orders[2]?.abort.abort();
    const closed = await within("giving up", () => made[2] ?? assert.fail());
    assert.equal("code" in closed && closed.code, "mcp_connection_closed");
    await until("the fifth server lives", () => registry.livedAtStart.length === 5 && registry.size === 4);
    // It was asked for when the process of the third had ended, not before; and the sixth still waits.
    assert.equal(registry.livedAtStart[4], 3);
    assert.equal(registry.livedAtStart.length, 5);
    // Who gives up while it waits is never started.
    orders[5]?.abort.abort();
    await within("giving up", () => made[5] ?? assert.fail());
    for (const { abort } of orders) abort.abort();
    await within("the end of all", () => Promise.all(made));
    assert.deepEqual([registry.livedAtStart.length, registry.size, connections.busy], [5, 0, []]);
  } finally {
    for (const { abort } of orders) abort.abort();
    await Promise.allSettled(made);
    await registry.closeAll();
    await homes.release();
  }
});
