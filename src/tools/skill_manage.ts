/** `skill_manage`: makes, changes and deletes the skills of a workspace, under a question for each (DM-16, DM-38). */
import { z } from "zod";
import { type Failure, failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import { SkillDescription, SkillName } from "../../schemas/skill.ts";
import { Edit, editAll } from "./patch.ts";
import { accept, type Checked, refuse } from "./path.ts";
import { makeShelf, removeSkill } from "./skill_folder.ts";
import { managedPath, openBelow, openSkill } from "./skill_shelf.ts";
import { readSkill, skillFile, writeSkill } from "./skill_text.ts";
import { type BuiltinTool, defineTool, errorEnvelope, textEnvelope, type ToolUseContext } from "./tool.ts";
import type { Workspace } from "./workspace.ts";

const input = z.strictObject({
  action: z.enum(["create", "update", "delete"]),
  name: SkillName.describe("Name of the skill: lower-case letters, digits and dashes"),
  description: SkillDescription.optional().describe("For create: when the skill is of use"),
  body: z.string().min(1).max(limits.skillCharactersMax).optional()
    .describe("For create: the instructions, in Markdown"),
  edits: z.array(Edit).min(1).max(limits.editsPerPatchMax).optional()
    .describe(
      "For update: exact pieces of the skill's text and what is to stand in their place, all or none",
    ),
});
type Input = z.output<typeof input>;

/** Writes skills by the guard and the code that write files. The agent's own skills are for people to write. */
export const skillManage: BuiltinTool = defineTool({
  name: "skill_manage",
  title: "Write a skill",
  description:
    "Makes a skill in the workspace, changes its text by exact pieces, or deletes it. What you write there, you and " +
    "other agents find later with skills_list.",
  resource: { kind: "skill", scope: "workspace" },
  capability: "fs.write",
  parallelSafe: false,
  reach: { riskLevel: "medium", effectClass: "non_idempotent", approvalPolicy: "prompt" },
  inputSchema: input,
  run: async (wanted, use) => {
    const done = await actions[wanted.action](wanted, use);
    return done.ok ? textEnvelope(done.value) : errorEnvelope(done.failure);
  },
});

type Action = (wanted: Input, use: ToolUseContext) => Promise<Checked<string>>;

const actions: { readonly [A in Input["action"]]: Action } = {
  create: async ({ name, description, body, edits }, use) => {
    if (description === undefined || body === undefined || edits !== undefined) {
      return wrong("create takes a description and a body");
    }
    const there = await openSkill(name, use);
    if (!await isFree(there)) {
      return refuse(failure("skill_exists", `Cannot create the skill "${name}": there is one; update it`));
    }
    const shelf = await makeShelf(use.cwd);
    if (!shelf.ok) return shelf;
    const text = writeSkill({ name, description }, body);
    const written = await shelf.value.changeText(
      `${name}/${skillFile}`,
      (before) =>
        before === undefined
          ? accept(text)
          : refuse(failure("skill_exists", `Cannot create the skill "${name}": there is one by now`)),
    );
    return written.ok ? accept(`Created the skill "${name}": ${written.value.bytes} bytes`) : written;
  },
  update: async ({ name, description, body, edits }, use) => {
    if (edits === undefined || description !== undefined || body !== undefined) {
      return wrong("update takes edits, and nothing else");
    }
    const folder = await managed(name, use);
    if (!folder.ok) return folder;
    const read = await folder.value.readText(skillFile, limits.skillBytesMax);
    if (!read.ok) return read;
    const edited = editAll(read.value.text, edits);
    if (!edited.ok) return edited;
    const { text, report } = edited.value;
    const problem = await problemOf(text, name);
    if (problem !== undefined) return refuse(problem);
    const written = await folder.value.changeText(
      skillFile,
      (before) =>
        before === read.value.text ? accept(text) : refuse(
          failure("file_not_written", `The skill "${name}" was changed meanwhile: read it again`),
        ),
    );
    if (!written.ok) return written;
    return accept([`Changed the skill "${name}": ${written.value.bytes} bytes now`, ...report].join("\n"));
  },
  delete: async ({ name, description, body, edits }, use) => {
    if (description !== undefined || body !== undefined || edits !== undefined) {
      return wrong("delete takes the name alone");
    }
    const folder = await managed(name, use);
    if (!folder.ok) return folder;
    const shelf = await openBelow(use.cwd, managedPath.join("/"));
    if (!shelf.ok) return shelf;
    const removed = await removeSkill(shelf.value, name);
    return removed.ok ? accept(`Deleted the skill "${name}"`) : removed;
  },
};

function wrong(what: string): Checked<never> {
  return refuse(failure("arguments_invalid", `Cannot use these arguments: ${what}`));
}

/** True if there is no such skill: a folder of the workspace that lost its text is none. */
async function isFree(there: Awaited<ReturnType<typeof openSkill>>): Promise<boolean> {
  if (!there.ok) return there.failure.code === "skill_unknown";
  const { origin, folder } = there.value;
  if (origin === "agent") return false;
  const read = await folder.readText(skillFile);
  return !read.ok && read.failure.code === "path_not_found";
}

/** The folder of a skill that agents may write. */
async function managed(name: string, use: ToolUseContext): Promise<Checked<Workspace>> {
  const skill = await openSkill(name, use);
  if (!skill.ok) return skill;
  if (skill.value.origin === "workspace") return accept(skill.value.folder);
  const message = `Cannot write the skill "${name}": it is the agent's own; a person has to write it`;
  return refuse(failure("path_protected", message));
}

async function problemOf(text: string, name: string): Promise<Failure | undefined> {
  if (text.length > limits.skillBytesMax) {
    return failure("too_large", `The skill "${name}" would have ${text.length} characters: make it shorter`);
  }
  const skill = await readSkill(text, name);
  if (!("problem" in skill)) return undefined;
  return failure(
    "skill_invalid",
    `The skill "${name}" could not be used after this change: ${skill.problem}`,
  );
}
