/** How many sessions our own servers keep by HTTP, and for how long. */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { createFilesServer } from "../../src/mcp/files_server.ts";
import { type HttpFront, openHttpFront } from "../../src/mcp/http_front.ts";
import { openWorkspace } from "../../src/tools/workspace.ts";
import { createWorld, type World } from "../support/world.ts";

async function withFront(play: (front: HttpFront, world: World) => Promise<void>): Promise<void> {
  const world = createWorld();
  const { clock } = world.seams;
  const opened = await openWorkspace(Deno.cwd());
  assert.ok(opened.ok);
  const cwd = opened.value;
  const createServer = () => createFilesServer({ version: "1", cwd, clock });
  const front = openHttpFront({ port: 0, sessionsMax: 2, createServer, clock });
  try {
    await play(front, world);
  } finally {
    await front.close();
  }
}

async function post(front: HttpFront, method: string, session?: string) {
  const params = method === "initialize"
    ? { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } }
    : {};
  const response = await fetch(front.url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(session === undefined ? {} : { "mcp-session-id": session }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  await response.text();
  return { status: response.status, session: response.headers.get("mcp-session-id") ?? "" };
}

Deno.test("http front opens so many sessions and no more, until one has been idle for half an hour", async () => {
  await withFront(async (front, world) => {
    const first = await post(front, "initialize");
    const second = await post(front, "initialize");
    assert.deepEqual([first.status, second.status, front.sessions], [200, 200, 2]);
    assert.notEqual(first.session, second.session);
    assert.equal((await post(front, "initialize")).status, 503);
    await world.advance(limits.mcpServedIdleMs - 1);
    assert.equal((await post(front, "tools/list", second.session)).status, 200);
    await world.advance(1);
    // The first has been left alone for so long, the second has not.
    assert.equal((await post(front, "initialize")).status, 200);
    assert.equal((await post(front, "tools/list", first.session)).status, 404);
    assert.equal((await post(front, "tools/list", second.session)).status, 200);
    assert.equal(front.sessions, 2);
  });
});
