/** `patch`: replaces exact pieces of a text file of the workspace, all of them or none (DM-16). */
import { z } from "zod";
import { failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import { accept, type Checked, refuse, shown } from "./path.ts";
import { type BuiltinTool, defineTool, errorEnvelope, textEnvelope } from "./tool.ts";

/** One exact piece of a text, and what is to stand in its place. */
export const Edit = z.strictObject({
  old: z.string().min(1).describe(
    "A piece of the file, exactly as it stands there, with enough around it to be the only one",
  ),
  new: z.string().describe("What is to stand in its place"),
  all: z.boolean().default(false).describe("Replaces every such piece, not the only one"),
});
/** One exact piece of a text, and what is to stand in its place. */
export type Edit = z.output<typeof Edit>;

const input = z.strictObject({
  path: z.string().min(1).max(limits.pathCharactersMax).describe(
    "Path of the file, relative to the workspace",
  ),
  edits: z.array(Edit).min(1).max(limits.editsPerPatchMax).describe(
    "Made in this order, each in what the one before left",
  ),
});

/** Edits a file by exact pieces. One that is not there, or there more than once, is refused, and nothing is changed. */
export const patch: BuiltinTool = defineTool({
  name: "patch",
  title: "Edit file",
  description:
    "Replaces exact pieces of a text file of the workspace: all edits or none. Nothing is guessed.",
  resource: { kind: "file", scope: "workspace" },
  capability: "fs.write",
  parallelSafe: false,
  reach: { riskLevel: "medium", effectClass: "non_idempotent", approvalPolicy: "prompt" },
  inputSchema: input,
  run: async ({ path, edits }, { cwd }) => {
    let report: readonly string[] = [];
    const written = await cwd.changeText(path, (before) => {
      if (before === undefined) {
        return refuse(
          failure("path_not_found", `Cannot edit ${shown(path)}: there is no such file; use write_file`),
        );
      }
      const edited = editAll(before, edits);
      if (edited.ok) report = edited.value.report;
      return edited.ok ? accept(edited.value.text) : edited;
    });
    if (!written.ok) return errorEnvelope(written.failure);
    return textEnvelope([`Changed ${shown(path)}: ${written.value.bytes} bytes now`, ...report].join("\n"));
  },
});

/** What edits made of a text, and where. */
export interface Edited {
  readonly text: string;
  readonly report: readonly string[];
}

/** Makes all edits, or none: a piece that is not there, or there more than once, is refused. */
export function editAll(before: string, edits: readonly Edit[]): Checked<Edited> {
  let text = before;
  const report: string[] = [];
  for (const [place, edit] of edits.entries()) {
    const pieces = text.split(edit.old);
    const count = pieces.length - 1;
    if (count === 0) return refuse(notFound(text, edit, place));
    if (count > 1 && !edit.all) {
      const message = `Edit ${place + 1} is not clear: its old text stands ${count} times, at lines ${
        linesOf(pieces, edit.old).slice(0, 10).join(", ")
      }; add what is around it, or set all`;
      return refuse(failure("edit_ambiguous", message));
    }
    report.push(`edit ${place + 1}: line ${linesOf(pieces, edit.old).slice(0, 10).join(", ")}`);
    text = pieces.join(edit.new);
  }
  if (text === before) {
    return refuse(failure("arguments_invalid", "The edits change nothing: old and new are the same"));
  }
  return accept({ text, report });
}

/** The line of each place where the pieces were joined, counted from 1. */
function linesOf(pieces: readonly string[], old: string): readonly number[] {
  const between = old.split("\n").length - 1;
  const lines: number[] = [];
  let line = 1;
  for (const piece of pieces.slice(0, -1)) {
    line += piece.split("\n").length - 1;
    lines.push(line);
    line += between;
  }
  return lines;
}

function notFound(text: string, { old }: Edit, place: number) {
  const squeeze = (one: string) => one.replace(/\s+/g, " ").trim();
  const hint = text.includes("\r\n") && !old.includes("\r\n") && text.replaceAll("\r\n", "\n").includes(old)
    ? "the lines of the file end with \\r\\n, those of the old text with \\n"
    : squeeze(text).includes(squeeze(old))
    ? "it stands there with other spaces or line ends"
    : "read the file again";
  return failure(
    "edit_not_found",
    `Edit ${place + 1} is not made: its old text does not stand in the file; ${hint}`,
  );
}
