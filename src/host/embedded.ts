/** Agents that come with troupe, as data. */
import { AgentDefinition } from "../../schemas/agent.ts";
import { McpManifest } from "../../schemas/manifest.ts";
import { Script } from "../../schemas/script.ts";
import type { EffectClass } from "../../schemas/tool.ts";
import type { LoadedServer } from "./declare.ts";

/** An agent that comes with troupe, its servers, and the script that stands for its model. */
export interface EmbeddedAgent {
  readonly definition: AgentDefinition;
  readonly script: Script;
  readonly servers: readonly LoadedServer[];
  /** What a repeat of the servers' tools would do: the word of a built-in manifest. */
  readonly effects: { readonly [tool: string]: EffectClass };
}

/** An agent as it stands here, before it is parsed. */
interface EmbeddedSource {
  readonly definition: unknown;
  readonly script: unknown;
  readonly servers: { readonly [server: string]: unknown };
  readonly effects: { readonly [tool: string]: EffectClass };
}

const demo: EmbeddedSource = {
  definition: {
    name: "demo",
    description: "Looks around in a folder, from a script: needs no key and no network",
    instructions: "You look around in the workspace and say what you found.",
    model: "scripted/demo",
    tools: ["list_files", "tools_list"],
    capabilities: ["fs.read", "mcp.connect:files", "mcp.call:files"],
  },
  servers: {
    files: {
      command: "troupe",
      args: ["mcp-server", "files", "--root", "."],
      risk: "low",
      approval_policy: "auto",
      supports_parallel_tool_calls: true,
    },
  },
  effects: { read_project_file: "idempotent", search_project_text: "idempotent" },
  script: {
    capabilities: { streaming: true, parallelToolCalls: true },
    answers: [
      {
        text:
          "I list the folder myself, and have the MCP server read its README: both only read, so they can run at once.",
        calls: [
          { tool: "list_files", arguments: {} },
          { tool: "files__read_project_file", arguments: { path: "README.md", limit: 40 } },
        ],
        usage: { inputTokens: 180, outputTokens: 60 },
        finish_reason: "tool_calls",
      },
      {
        text:
          "Now the server looks for the words that a project leaves behind, and I ask which tools I have.",
        calls: [
          { tool: "files__search_project_text", arguments: { query: "Troupe", limit: 5 } },
          { tool: "tools_list", arguments: {} },
        ],
        usage: { inputTokens: 900, outputTokens: 50 },
        finish_reason: "tool_calls",
      },
      {
        text:
          "That was one governed turn, with two built-in tools and two of an MCP server, a process of its own: every " +
          "call went through the catalog, the schema check and the policy, every answer was written to the journal " +
          "before anybody acted on it, and so the whole turn can be replayed without a model, a tool or the server.",
        usage: { inputTokens: 1_400, outputTokens: 55 },
      },
    ],
  },
};

/** The agents by name. Parsed when asked for: nobody pays at start for what is not used. */
const sources: { readonly [name: string]: EmbeddedSource } = { demo };

/** Names of the agents that come with troupe. */
export const embeddedNames: readonly string[] = Object.keys(sources);

/** The agent of a name that comes with troupe; undefined if there is none. */
export function embeddedAgent(name: string): EmbeddedAgent | undefined {
  const source = Object.hasOwn(sources, name) ? sources[name] : undefined;
  if (source === undefined) return undefined;
  const servers = Object.entries(source.servers).map(([server, manifest]) => ({
    server,
    manifest: McpManifest.parse(manifest),
    folder: "",
    origin: `built in (${name})`,
  }));
  return {
    definition: AgentDefinition.parse(source.definition),
    script: Script.parse(source.script),
    servers,
    effects: source.effects,
  };
}
