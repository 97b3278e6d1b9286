/** `skill_view`: the text of a skill, or of one of the files beside it (DM-16). */
import { z } from "zod";
import { limits } from "../../schemas/limits.ts";
import type { ToolResultEnvelope } from "../../schemas/tool.ts";
import { readLines, readLinesInput } from "./read_file.ts";
import { openSkill } from "./skill_shelf.ts";
import { skillFile } from "./skill_text.ts";
import { type BuiltinTool, defineTool, errorEnvelope } from "./tool.ts";
import { head, visible } from "./visible.ts";
import { walk } from "./walk.ts";
import type { Workspace } from "./workspace.ts";

/** Levels of folders inside a skill that are named, and the room for their names, in characters. */
const filesDepthMax = 4;
const filesCharactersMax = 2_000;

const input = readLinesInput.omit({ path: true }).extend({
  name: z.string().min(1).max(limits.pathCharactersMax).describe(
    "Name of the skill, as skills_list shows it",
  ),
  file: z.string().min(1).max(limits.pathCharactersMax).optional()
    .describe("A file of the skill, relative to its folder; without it, the skill itself"),
});

/** Reads a skill: at most 20,000 characters, and says how to go on, and which files there are besides. */
export const skillView: BuiltinTool = defineTool({
  name: "skill_view",
  title: "Read a skill",
  description: "Reads a skill, or a file beside it. Long files come in pieces: the answer says how to go on.",
  resource: { kind: "skill", scope: "agent" },
  parallelSafe: false,
  modelCharactersMax: limits.readFileCharactersDefault,
  inputSchema: input,
  run: async ({ name, file, ...wanted }, use) => {
    const skill = await openSkill(name, use);
    if (!skill.ok) return errorEnvelope(skill.failure);
    const { folder } = skill.value;
    const beside = file === undefined && wanted.offset === 1 ? await filesOf(folder, use.signal) : "";
    const charactersMax = limits.readFileCharactersDefault - beside.length;
    const read = await readLines({ ...wanted, path: file ?? skillFile }, folder, charactersMax);
    return withNote(read, beside);
  },
});

/** One line that names the other files of a skill; empty if there are none. */
async function filesOf(folder: Workspace, signal: AbortSignal): Promise<string> {
  const entriesMax = limits.skillFilesNamedMax;
  const walked = await walk(folder, "", { depthMax: filesDepthMax, entriesMax, signal });
  if (!walked.ok) return "";
  const names = walked.value.entries.filter(({ kind, path }) => kind === "file" && path !== skillFile)
    .map(({ path }) => visible(path));
  if (names.length === 0) return "";
  const more = walked.value.cut ? ", and more" : "";
  return `\n[files beside it: ${head(names.join(", "), filesCharactersMax)}${more}]`;
}

function withNote(read: ToolResultEnvelope, note: string): ToolResultEnvelope {
  const [piece] = read.content;
  if (note === "" || piece?.type !== "text") return read;
  return { ...read, content: [{ type: "text", text: `${piece.text.replace(/\n$/, "")}${note}` }] };
}
