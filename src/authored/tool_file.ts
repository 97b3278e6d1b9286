/** The tool files of an agent's folder, as data: nothing of them is run by reading them. */
import { GovernedName } from "../../schemas/governance.ts";
import { limits } from "../../schemas/limits.ts";
import { canonicalBytes } from "../canonical.ts";
import type { Seams } from "../seams.ts";
import { openWorkspace, type Workspace } from "../tools/workspace.ts";

/** The folder of an agent's tools. */
export const toolsFolder = "tools";

/** A tool file that was read. */
export interface ToolFile {
  /** The name of its tool: that of the file. */
  readonly name: string;
  /** Below the agent's folder: `tools/<name>.ts`. */
  readonly file: string;
  /** The agent's folder, a real path. */
  readonly folder: string;
  readonly text: string;
  /** Hash of folder, file and text: another one is another tool, which is not trusted. */
  readonly fingerprint: string;
}

/** A file that cannot be one: why, one clause. */
export interface BadToolFile {
  readonly name: string;
  readonly file: string;
  readonly problem: string;
}

/** Reads `tools/*.ts` and `tools/*.js`, in the order of their names. An agent without that folder has none. */
export async function readToolFiles(
  folder: string,
  digest: Seams["digest"],
): Promise<readonly (ToolFile | BadToolFile)[]> {
  const opened = await openWorkspace(folder);
  const names = await toolFileNames(folder);
  if (!opened.ok || names.length === 0) return [];
  const found: (ToolFile | BadToolFile)[] = [];
  for (const [at, base] of names.entries()) {
    const [name, file] = [nameOf(base), `${toolsFolder}/${base}`];
    const twin = names.find((other, index) => index < at && nameOf(other) === name);
    const problem = problemOf(name, at, twin);
    if (problem !== undefined) found.push({ name, file, problem });
    else found.push(await readToolFile(opened.value, { folder, file }, digest));
  }
  return found;
}

function problemOf(name: string, at: number, twin: string | undefined): string | undefined {
  const most = limits.toolFilesPerAgentMax;
  if (at >= most) return `the agent has more than ${most} tool files`;
  if (twin !== undefined) return `${toolsFolder}/${twin} has the same name; remove one of them`;
  const named = GovernedName.safeParse(name);
  return named.success ? undefined : `its name is that of its tool, which ${named.error.issues[0]?.message}`;
}

/** Reads one tool file again. `folder`: the agent's, a real path, which `workspace` guards. */
export async function readToolFile(
  workspace: Workspace,
  { folder, file }: Pick<ToolFile, "folder" | "file">,
  digest: Seams["digest"],
): Promise<ToolFile | BadToolFile> {
  const name = nameOf(file.slice(toolsFolder.length + 1));
  const read = await workspace.readText(file, limits.toolSourceBytesMax);
  if (!read.ok) return { name, file, problem: read.failure.message };
  const { text } = read.value;
  const fingerprint = await digest(canonicalBytes({ folder, file, text }));
  return { name, file, folder, text, fingerprint };
}

/** True if an agent's folder has tool files. */
export async function hasToolFiles(folder: string): Promise<boolean> {
  return (await toolFileNames(folder)).length > 0;
}

/** The names of an agent's own tools. */
export async function toolNames(folder: string): Promise<readonly string[]> {
  return (await toolFileNames(folder)).map(nameOf);
}

async function toolFileNames(folder: string): Promise<readonly string[]> {
  const names: string[] = [];
  try {
    for await (const { name, isDirectory } of Deno.readDir(`${folder}/${toolsFolder}`)) {
      if (!isDirectory && /\.[jt]s$/.test(name) && !name.endsWith(".d.ts")) names.push(name);
    }
  } catch {
    return []; // There is no such folder, or it may not be read: then there are no tools in it.
  }
  return names.sort();
}

function nameOf(base: string): string {
  return base.replace(/\.[jt]s$/, "");
}
