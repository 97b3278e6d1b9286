/** `script.yaml` of a new agent: what stands for its model. */

/** The text of `script.yaml`. */
export const scriptYaml =
  `# One answer for each time that the model is called, in this order, whatever it is asked.
# Tools of MCP servers are called <server>__<tool>.
answers:
  - text: I look around, and search with a tool of the MCP server "files".
    calls:
      - tool: list_files
        arguments: {}
      - tool: files__search_project_text
        arguments: { query: name, limit: 5 }

  - text: Now I read how README.md begins.
    calls:
      - tool: files__read_project_file
        arguments: { path: README.md, limit: 20 }

  # Without calls the turn ends. A second turn needs more answers, or a session of its own.
  - text: |-
      I listed the workspace with a built-in tool, searched it and asked for README.md through an MCP server.
      Each call passed the catalog, the schema and the policy, and stands in the journal with its result.
      Next, see all of it with "troupe log last", feed it to the machines again with "troupe replay last",
      and then change script.yaml, or write approval_policy: prompt into mcp/files.yaml to be asked first.
`;
