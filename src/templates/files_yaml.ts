/** `mcp/files.yaml` of a new agent: troupe's own MCP server for files. */

/** The text of `mcp/files.yaml`. */
export const filesYaml =
  `# An MCP server of this agent. Its id is the name of this file, so its tools are called files__<tool>.
# "troupe" stands for the very program that is running; anything else is looked for on the PATH.
command: troupe

# The server works in the workspace, so "." is the workspace, and it can read nothing outside of it.
args: [mcp-server, files, --root, .]

# How much can go wrong: low, medium (the default), high or critical. This server only reads.
risk: low

# auto: calls run without a question. prompt (the default) asks a person before every call; deny forbids them all.
approval_policy: auto

timeout_seconds: 20
`;
