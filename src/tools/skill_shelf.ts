/**
 * Where skills are: in the folder `skills` of the agent's own folder, written by people, and in `.troupe/skills` of the
 * workspace, written by `skill_manage`. The second place is closed to every other tool that writes (B60): what an agent
 * will obey later is changed under a question of its own, never under an answer that was given about files.
 */
import { failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import { SkillName } from "../../schemas/skill.ts";
import { accept, type Checked, join, outside, refuse } from "./path.ts";
import { readSkill, skillFile } from "./skill_text.ts";
import type { ToolUseContext } from "./tool.ts";
import { head, visible } from "./visible.ts";
import { openWorkspace, type Workspace } from "./workspace.ts";

/** Whose a skill is. */
export type SkillOrigin = "agent" | "workspace";

/** One skill that was found. */
export interface FoundSkill {
  readonly name: string;
  readonly origin: SkillOrigin;
  readonly description?: string;
  /** Why it cannot be used. */
  readonly problem?: string;
}

/** The folders of the workspace that lead to the skills which agents write. */
export const managedPath = [".troupe", "skills"] as const;

const folders: { readonly [O in SkillOrigin]: string } = {
  agent: "skills",
  workspace: managedPath.join("/"),
};

/** The folders that may hold skills, each behind its guard; the agent's come first. */
function placesOf(
  { agent_folder: own, cwd }: ToolUseContext,
): readonly { readonly origin: SkillOrigin; readonly guard: Workspace }[] {
  return [
    ...(own === undefined ? [] : [{ origin: "agent" as const, guard: own }]),
    { origin: "workspace" as const, guard: cwd },
  ];
}

/** All skills, sorted by name within each place, and whether there are more than are looked at. */
export async function listSkills(
  use: ToolUseContext,
): Promise<{ readonly skills: readonly FoundSkill[]; readonly isCut: boolean }> {
  const skills: FoundSkill[] = [];
  for (const { origin, guard } of placesOf(use)) {
    const listed = await guard.listFolder(folders[origin]);
    if (!listed.ok) continue; // There is none.
    for (const { name, kind } of listed.value) {
      if (kind === "file" || kind === "other") continue;
      if (use.signal.aborted || skills.length >= limits.skillsMax) return { skills, isCut: true };
      const isTaken = skills.some((other) => other.name === name && other.origin !== origin);
      const found = await lookAt(guard, { origin, name, isTaken });
      skills.push({ name: head(visible(name), 60), origin, ...found });
    }
  }
  return { skills, isCut: false };
}

async function lookAt(
  guard: Workspace,
  { origin, name, isTaken }: {
    readonly origin: SkillOrigin;
    readonly name: string;
    readonly isTaken: boolean;
  },
): Promise<Pick<FoundSkill, "description" | "problem">> {
  if (!SkillName.safeParse(name).success) return { problem: "its folder has a name that no skill can have" };
  if (isTaken) return { problem: "the agent has a skill of this name, which is used in its place" };
  const folder = await openBelow(guard, `${folders[origin]}/${name}`);
  if (!folder.ok) return { problem: folder.failure.message };
  const read = await folder.value.readText(skillFile, limits.skillBytesMax);
  if (!read.ok) return { problem: read.failure.message };
  const skill = await readSkill(read.value.text, name);
  return "problem" in skill ? skill : { description: skill.head.description };
}

/** The folder of one skill behind a guard of its own. What no skill can be named is not looked for. */
export async function openSkill(
  name: string,
  use: ToolUseContext,
): Promise<Checked<{ readonly origin: SkillOrigin; readonly folder: Workspace }>> {
  if (SkillName.safeParse(name).success) {
    for (const { origin, guard } of placesOf(use)) {
      const folder = await openBelow(guard, `${folders[origin]}/${name}`);
      if (folder.ok) return accept({ origin, folder: folder.value });
      if (folder.failure.code !== "path_not_found") return folder;
    }
  }
  const message = `There is no skill "${head(visible(name), 60)}": skills_list shows those that there are`;
  return refuse(failure("skill_unknown", message));
}

/**
 * A folder below another one's root as a root of its own: a link in it then leads nowhere else. Refuses a folder that is
 * reached by a link itself.
 */
export async function openBelow(guard: Workspace, path: string): Promise<Checked<Workspace>> {
  const base = await guard.realFolder("");
  if (!base.ok) return base;
  const real = await guard.realFolder(path);
  if (!real.ok) return real;
  if (real.value !== join(base.value, path.split("/"))) return refuse(outside(path));
  const inner = await openWorkspace(real.value);
  if (!inner.ok) return inner;
  // Between the two looks somebody may have put a link there.
  const again = await inner.value.realFolder("");
  return again.ok && again.value === real.value ? inner : refuse(outside(path));
}
