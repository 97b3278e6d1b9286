/** `agent.yaml` of a new agent. */
import { stringifyYaml } from "../yaml/write.ts";

/** The text of `agent.yaml` for an agent of a name. */
export function agentYaml(name: string): string {
  return `# This folder is an agent. "troupe schema agent" prints all that may stand in this file.
${stringifyYaml({ name })}description: Looks around in a folder and says what is in it

# What the model is told first.
instructions: You look around in the workspace and say what you found.

# scripted/FILE plays prepared answers from a file beside this one: no key, no network.
model: scripted/script.yaml

# Built-in tools. Those of MCP servers come with the manifests in mcp/.
tools: [list_files, read_file]

# What the agent may do. To have a tool is not enough: without its capability every call is denied, and without
# mcp.connect:files the server "files" is not started.
capabilities:
  - fs.read
  - mcp.connect:files
  - mcp.call:files
`;
}
