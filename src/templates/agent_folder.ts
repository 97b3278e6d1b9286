/** The folder of a new agent: what `troupe init` writes. Text in modules, so that a compiled program has it too. */
import { agentYaml } from "./agent_yaml.ts";
import { filesYaml } from "./files_yaml.ts";
import { readme } from "./readme.ts";
import { scriptYaml } from "./script_yaml.ts";

/** One file to be written. */
export interface TemplateFile {
  /** Below the folder, with `/`. */
  readonly path: string;
  readonly text: string;
}

/** Id of the MCP server that a new agent has. */
export const templateServer = "files";

/** The files of a new agent, in the order in which they are shown. */
export function agentFiles(name: string): readonly TemplateFile[] {
  return [
    { path: "agent.yaml", text: agentYaml(name) },
    { path: `mcp/${templateServer}.yaml`, text: filesYaml },
    { path: "script.yaml", text: scriptYaml },
    { path: "README.md", text: readme(name) },
  ];
}
