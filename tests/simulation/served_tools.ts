/** Tools of the simulated MCP servers, and how a session declares those servers. */
import { McpDeclaration, McpManifest } from "../../schemas/manifest.ts";
import { digestNow } from "../support/world.ts";
import type { Tool } from "./scenario.ts";

/** Names of the servers; a session has the first of them, or both. */
export const serverNames = ["shop", "mill"] as const;

interface Served extends Pick<Tool, "name" | "effect"> {
  readonly mechanism?: "key";
  /** True if its server carries it out as a task. */
  readonly isTask?: boolean;
}

/** What every server has. */
const wares: readonly Served[] = [
  { name: "look", effect: "idempotent" },
  { name: "order", effect: "conditional", mechanism: "key" },
  { name: "pay", effect: "non_idempotent" },
  { name: "bake", effect: "non_idempotent", isTask: true },
  { name: "brew", effect: "conditional", mechanism: "key", isTask: true },
];

/** All tools of servers, by the names that catalogs give them. */
export const served: readonly Tool[] = serverNames.flatMap((server) =>
  wares.map(({ name, effect, mechanism }): Tool => ({
    name: `mcp.${server}.${name}`,
    effect,
    ...(mechanism === undefined ? {} : { mechanism }),
    server,
  }))
);

/** Tools of the first servers as models call them. */
export function servedNames(servers: number): readonly string[] {
  return serverNames.slice(0, servers).flatMap((server) => wares.map(({ name }) => `${server}__${name}`));
}

/** True if a server carries out a tool as a task. */
export function isTask(tool: string): boolean {
  return wares.some(({ name, isTask = false }) => name === tool && isTask);
}

/** The list of a server, as it tells it. A server of an odd version has lost a tool. */
export function listOf(version: number): readonly unknown[] {
  return wares.filter(({ name }) => version % 2 === 0 || name !== "look").map(({ name, isTask = false }) => ({
    name,
    description: `Version ${version}`,
    inputSchema: { type: "object", properties: { text: { type: "string" } } },
    execution: { taskSupport: isTask ? "required" : "forbidden" },
  }));
}

/** What sessions declare. */
export function declarationsOf(servers: number): readonly McpDeclaration[] {
  return serverNames.slice(0, servers).map((server) =>
    McpDeclaration.parse({
      server,
      manifest: McpManifest.parse({
        transport: "stdio",
        command: server,
        risk: "low",
        approval_policy: "auto",
        timeout_seconds: 20,
        connect_timeout_seconds: 5,
      }),
      cwd: "/play",
      origin: `mcp/${server}.yaml`,
      trust: "third_party",
      preview: server,
      effects: Object.fromEntries(wares.map(({ name, effect }) => [name, effect])),
      fingerprint: digestNow(new TextEncoder().encode(server)),
      gate: "granted",
    })
  );
}
