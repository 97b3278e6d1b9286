/** Agents that come with troupe, as data. */
import { AgentDefinition } from "../../schemas/agent.ts";
import { Script } from "../../schemas/script.ts";

/** An agent that comes with troupe, and the script that stands for its model. */
export interface EmbeddedAgent {
  readonly definition: AgentDefinition;
  readonly script: Script;
}

const demo = {
  definition: {
    name: "demo",
    description: "Looks around in a folder, from a script: needs no key and no network",
    instructions: "You look around in the workspace and say what you found.",
    model: "scripted/demo",
    tools: ["list_files", "read_file", "search_files", "tools_list"],
    capabilities: ["fs.read"],
  },
  script: {
    capabilities: { streaming: true, parallelToolCalls: true },
    answers: [
      {
        text: "I look at the folder and its README first; both only read, so they can run at once.",
        calls: [
          { tool: "list_files", arguments: {} },
          { tool: "read_file", arguments: { path: "README.md", limit: 40 } },
        ],
        usage: { inputTokens: 180, outputTokens: 60 },
        finish_reason: "tool_calls",
      },
      {
        text: "Now I look for the machines that decide, and ask which tools I have.",
        calls: [
          {
            tool: "search_files",
            arguments: { pattern: "export const [a-z]+Machine", regex: true, path: "actors" },
          },
          { tool: "tools_list", arguments: {} },
        ],
        usage: { inputTokens: 900, outputTokens: 50 },
        finish_reason: "tool_calls",
      },
      {
        text:
          "That was one governed turn: every call went through the catalog, the schema check and the policy, " +
          "every answer was written to the journal before anybody acted on it, and so the whole turn can be " +
          "replayed without a model and without a tool.",
        usage: { inputTokens: 1_400, outputTokens: 55 },
      },
    ],
  },
};

/** The agents by name. Parsed when asked for: nobody pays at start for what is not used. */
const sources: { readonly [name: string]: { readonly definition: unknown; readonly script: unknown } } = {
  demo,
};

/** Names of the agents that come with troupe. */
export const embeddedNames: readonly string[] = Object.keys(sources);

/** The agent of a name that comes with troupe; undefined if there is none. */
export function embeddedAgent(name: string): EmbeddedAgent | undefined {
  const source = Object.hasOwn(sources, name) ? sources[name] : undefined;
  if (source === undefined) return undefined;
  return { definition: AgentDefinition.parse(source.definition), script: Script.parse(source.script) };
}

/** The folder that holds troupe's own source, if it runs from one. */
export function projectFolder(): string | undefined {
  return import.meta.dirname?.replace(/[/\\]src[/\\]host$/, "");
}
