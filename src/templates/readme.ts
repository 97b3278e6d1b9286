/** `README.md` of a new agent. */

/** The text of `README.md` for an agent of a name. */
export function readme(name: string): string {
  return `# ${name}

An agent for troupe. A script stands for its model, so it needs no key. In this folder:

    troupe run . "What is in here?" --workspace .
    troupe log last
    troupe replay last

agent.yaml says who it is, mcp/ which servers it uses, script.yaml what its model answers.
After a change in mcp/, "troupe trust ." looks at it and lets it start without a question.
`;
}
