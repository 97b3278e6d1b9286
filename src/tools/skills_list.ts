/** `skills_list`: the skills that there are, and when each is of use (DM-16). */
import { z } from "zod";
import { limits } from "../../schemas/limits.ts";
import { listSkills } from "./skill_shelf.ts";
import { type BuiltinTool, defineTool, textEnvelope } from "./tool.ts";
import { head, visible } from "./visible.ts";

/** Longest description or problem that a list shows, in characters. */
const wordsMax = 300;

/** Lists skills. One that cannot be used is listed with its problem. */
export const skillsList: BuiltinTool = defineTool({
  name: "skills_list",
  title: "List skills",
  description:
    "Lists the skills that you can look up with skill_view: instructions for tasks of one kind. Those of the " +
    "workspace were written by agents, or came with it.",
  resource: { kind: "skill", scope: "agent" },
  parallelSafe: false,
  inputSchema: z.strictObject({}),
  run: async (_, use) => {
    const { skills, isCut } = await listSkills(use);
    if (skills.length === 0) return textEnvelope("[no skills]");
    const lines = skills.map(({ name, origin, description, problem }) =>
      problem === undefined
        ? `${name} (${origin}): ${head(visible(description ?? ""), wordsMax)}`
        : `${name} (${origin}) [cannot be used: ${head(visible(problem), wordsMax)}]`
    );
    const rest = isCut ? [`[cut: more than ${limits.skillsMax} skills are not listed]`] : [];
    return textEnvelope([...lines, ...rest].join("\n"));
  },
});
