/** Makes and removes the folders of skills in a workspace, whatever links and races there are (B55, B56). */
import { failure } from "../../schemas/failure.ts";
import { OpenFolder } from "./open_folder.ts";
import { accept, type Checked, join, refuse } from "./path.ts";
import { managedPath, openBelow } from "./skill_shelf.ts";
import { skillFile } from "./skill_text.ts";
import type { Workspace } from "./workspace.ts";

/** The folder of the skills that agents write, behind a guard of its own; it is made if it is not there. */
export async function makeShelf(cwd: Workspace): Promise<Checked<Workspace>> {
  const base = await cwd.realFolder("");
  if (!base.ok) return base;
  let folder = await OpenFolder.open(base.value).catch(() => undefined);
  for (const name of managedPath) {
    const inner: OpenFolder | undefined = await folder?.make(name).catch(() => undefined);
    folder?.close();
    folder = inner;
  }
  folder?.close();
  if (folder === undefined) {
    const message = `Cannot make the folder ${
      managedPath.join("/")
    }: something else is there, or it may not be`;
    return refuse(failure("file_not_written", message));
  }
  return await openBelow(cwd, managedPath.join("/"));
}

/** Removes the folder of a skill that has nothing but the skill in it. Other files are for a person to remove. */
export async function removeSkill(shelf: Workspace, name: string): Promise<Checked<undefined>> {
  const base = await shelf.realFolder("");
  if (!base.ok) return base;
  const [outer, inner] = [
    await OpenFolder.open(base.value).catch(() => undefined),
    await OpenFolder.open(join(base.value, [name])).catch(() => undefined),
  ];
  try {
    if (outer === undefined || inner === undefined) return refuse(changed(name));
    const others = [...Deno.readDirSync(inner.at("."))].filter((entry) => entry.name !== skillFile);
    if (others.length > 0) {
      const message =
        `Cannot delete the skill "${name}": there are ${others.length} other files in its folder; ` +
        "a person has to remove them";
      return refuse(failure("file_not_written", message));
    }
    // By the open folder: what was looked at is what goes. A link goes itself, not what it leads to.
    await Deno.remove(inner.at(skillFile)).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
    if (!inner.isInPlace() || !outer.isInPlace()) return refuse(changed(name));
    await Deno.remove(outer.at(name));
    await outer.sync();
    return accept(undefined);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return refuse(changed(name));
    return refuse(failure("file_not_written", `Cannot delete the skill "${name}": the file system refused`));
  } finally {
    inner?.close();
    outer?.close();
  }
}

function changed(name: string) {
  const message = `Cannot delete the skill "${name}": its folder was changed meanwhile; look at it again`;
  return failure("file_not_written", message);
}
