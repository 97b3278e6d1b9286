/** Paths that no tool writes, whether anything is there or not (B60): what they hold is run or obeyed by others. */
import { type Failure, failure } from "../../schemas/failure.ts";
import { shown } from "./path.ts";

/** Folders of version control, hooks and editors: what lies in them is run by other programs. */
const folders: ReadonlySet<string> = new Set([
  ".git",
  ".hg",
  ".svn",
  ".husky",
  ".githooks",
  ".vscode",
  ".idea",
  ".troupe",
]);
/** Files by which programs, shells and this runtime are told what to do. */
const files: ReadonlySet<string> = new Set([
  ".bash_profile",
  ".bashrc",
  ".envrc",
  ".gitattributes",
  ".gitconfig",
  ".gitmodules",
  ".npmrc",
  ".profile",
  ".zprofile",
  ".zshenv",
  ".zshrc",
  "agent.yaml",
  "agent.yml",
  "troupe.yaml",
  "troupe.yml",
]);

/** Why nothing is written at the place of these names; undefined if it may be. By name and in any case. */
export function protectionOf(names: readonly string[], path: string): Failure | undefined {
  const lower = names.map((name) => name.toLowerCase().normalize("NFC"));
  const name = lower.at(-1) ?? "";
  const isManifest = lower.at(-2) === "mcp" && /\.ya?ml$/.test(name);
  if (!isManifest && !files.has(name) && !lower.some((one) => folders.has(one))) return undefined;
  return failure(
    "path_protected",
    `Cannot write ${
      shown(path)
    }: files of this place or name tell other programs, or this runtime, what to do; ` +
      "a person has to write it",
  );
}
