/** A server by HTTP that a test speaks to in whatever era it shows: a guarded client, and time that stands still. */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import type { McpCall, McpCallResult, McpClient } from "../../src/mcp/client.ts";
import type { EraTry } from "../../src/mcp/era.ts";
import { openHttpClient } from "../../src/mcp/http_client.ts";
import { type Guarded, withGuarded } from "./guarded.ts";
import { type HttpQuirks, HttpServer } from "./http_server.ts";
import type { World } from "./world.ts";

const unknown: readonly EraTry[] = [
  { era: "modern", withinMs: limits.mcpProbeMs },
  { era: "legacy" },
  { era: "modern" },
];
/** Nobody gives it up. */
export const never = new AbortController().signal;

/** What a test of the modern era plays with. */
export interface Scene {
  readonly server: HttpServer;
  readonly world: World;
  open(eras?: readonly EraTry[]): Promise<McpClient>;
}

/** Plays with a server; what was opened is closed whatever happens. */
export async function withServer(quirks: HttpQuirks, play: (scene: Scene) => Promise<void>): Promise<void> {
  const server = new HttpServer(quirks);
  const opened: McpClient[] = [];
  const openOver = async ({ client, world }: Guarded, eras: readonly EraTry[]) => {
    const { clock } = world.seams;
    const options = {
      url: server.url,
      headers: {},
      fetch: client.fetch,
      clock,
      connectMs: 30_000,
      signal: never,
    };
    const made = await openHttpClient({ ...options, eras });
    opened.push(made);
    return made;
  };
  try {
    await withGuarded({ allow: ["127.0.0.1"] }, async (guarded) => {
      const open = (eras = unknown) => openOver(guarded, eras);
      try {
        await play({ server, world: guarded.world, open });
      } finally {
        for (const client of opened) await client.close();
      }
    });
  } finally {
    await server.close();
  }
}

/** Calls a tool as an invocation does. */
export function call(client: McpClient, changes: Partial<McpCall> = {}): Promise<McpCallResult> {
  const signal = new AbortController().signal;
  const idleMs = limits.mcpCallIdleMs;
  return client.call({
    tool: "echo",
    arguments: {},
    key: "session/s#1.0",
    signal,
    idleMs,
    onProgress: () => {},
    ...changes,
  });
}

/** Waits until something holds; time goes on only where a test says so. */
export async function until(
  claim: string,
  { world }: Pick<Scene, "world">,
  holds: () => boolean,
  stepMs = 0,
) {
  for (let looks = 0; looks < 2_000; looks++) {
    if (holds()) return;
    await world.settle();
    await new Promise((resolve) => setTimeout(resolve, 1));
    if (stepMs > 0) await world.advance(stepMs);
  }
  assert.fail(`did not come to hold: ${claim}`);
}
