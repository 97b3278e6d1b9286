/** `read_file`: the text of one file of the workspace, by lines. */
import { z } from "zod";
import { failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import type { ToolResultEnvelope } from "../../schemas/tool.ts";
import { type BuiltinTool, defineTool, errorEnvelope, textEnvelope } from "./tool.ts";
import { shown } from "./path.ts";
import { head } from "./visible.ts";
import type { Workspace } from "./workspace.ts";

/** What can be asked of {@linkcode readLines}. */
export const readLinesInput = z.strictObject({
  path: z.string().min(1).max(limits.pathCharactersMax)
    .describe("Path of the file, relative to the workspace, for example src/main.ts"),
  offset: z.int().min(1).max(10_000_000).default(1).describe("First line to read, counted from 1"),
  limit: z.int().min(1).max(1_000_000).optional().describe("Most lines to read; without it, as many as fit"),
});

/** Room for the line that says what was left out, in characters. */
const noteCharactersMax = 300;

/** Reads a file of the workspace: at most 20,000 characters, and says how to go on (DM-16, DM-17). */
export const readFile: BuiltinTool = defineTool({
  name: "read_file",
  title: "Read file",
  description: "Reads a text file of the workspace. Long files come in pieces: the answer says how to go on.",
  resource: { kind: "file", scope: "workspace" },
  capability: "fs.read",
  parallelSafe: true,
  modelCharactersMax: limits.readFileCharactersDefault,
  inputSchema: readLinesInput,
  run: (wanted, { cwd }) => readLines(wanted, cwd),
});

/** The lines of a file that are wanted, as many as fit into `charactersMax`, and how to go on. */
export async function readLines(
  { path, offset, limit }: z.output<typeof readLinesInput>,
  workspace: Workspace,
  charactersMax: number = limits.readFileCharactersDefault,
): Promise<ToolResultEnvelope> {
  const read = await workspace.readText(path);
  if (!read.ok) return errorEnvelope(read.failure);
  const lines = linesOf(read.value.text);
  if (offset > Math.max(lines.length, 1)) {
    const message = `Cannot read ${shown(path)} from line ${offset}: it has ${lines.length} lines`;
    return errorEnvelope(failure("arguments_invalid", message));
  }
  const room = charactersMax - noteCharactersMax;
  const piece = pieceOf(lines, { offset, count: limit ?? lines.length, room });
  const grew = read.value.grew ? ["[the file grew while it was read; read it again for the rest]"] : [];
  const notes = [...piece.notes, ...grew];
  if (notes.length === 0) return textEnvelope(piece.text);
  return textEnvelope([piece.text.replace(/\n$/, ""), ...notes].join("\n"));
}

/** Lines with their ends, so that what is read is what stands there. */
function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.split(/(?<=\n)/);
}

interface Piece {
  readonly text: string;
  readonly notes: readonly string[];
}

/** As many whole lines from `offset` on as are wanted and fit into the room, in characters. */
function pieceOf(
  lines: readonly string[],
  { offset, count, room }: { readonly offset: number; readonly count: number; readonly room: number },
): Piece {
  const last = Math.min(lines.length, offset - 1 + count);
  const wanted = lines.slice(offset - 1, last);
  const all = wanted.join("");
  if (all.length <= room) {
    const rest = last < lines.length ? [goOn(offset, last, lines.length)] : [];
    return { text: all, notes: rest };
  }
  let used = 0;
  let fit = 0;
  while (used + (wanted[fit]?.length ?? 0) <= room) used += wanted[fit++]?.length ?? 0;
  if (fit > 0) {
    return { text: all.slice(0, used), notes: [goOn(offset, offset - 1 + fit, lines.length)] };
  }
  // One line is longer than all that may be shown: there is no offset inside a line.
  const length = wanted[0]?.length ?? 0;
  const more = offset < lines.length ? `; go on with offset ${offset + 1}` : "";
  return {
    text: head(all, room),
    notes: [`[cut: line ${offset} has ${length} characters, shown are ${room}${more}]`],
  };
}

function goOn(first: number, last: number, count: number): string {
  return `[cut: lines ${first} to ${last} of ${count} shown; go on with offset ${last + 1}]`;
}
