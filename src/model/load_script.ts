/** Reads a script from an agent's folder. */
import type { Failure } from "../../schemas/failure.ts";
import { Script } from "../../schemas/script.ts";
import { readConfigFile } from "../config_file.ts";
import type { Checked } from "../tools/path.ts";
import { openWorkspace } from "../tools/workspace.ts";

/** A script file that cannot be opened: not there, no text, too large, or outside the agent's folder. */
export class ScriptFileError extends Error {
  override readonly name = "ScriptFileError";
  readonly failure: Failure;
  constructor(problem: Failure) {
    super(problem.message);
    this.failure = problem;
  }
}

/**
 * Reads the script at `path` inside `agentFolder`, never outside it, whatever links say.
 *
 * Throws {@linkcode ScriptFileError}, and what `readConfigFile` throws for text that is no script.
 */
export async function loadScript(agentFolder: string, path: string): Promise<Script> {
  const folder = valueOf(await openWorkspace(agentFolder));
  const { text } = valueOf(await folder.readText(path));
  return await readConfigFile(Script, text, path);
}

function valueOf<T>(checked: Checked<T>): T {
  if (checked.ok) return checked.value;
  throw new ScriptFileError(checked.failure);
}
