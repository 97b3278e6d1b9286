/** Tables for people: columns as wide as their content, the last one cut to the terminal. */
import { visible } from "../tools/visible.ts";
import type { Terminal } from "./terminal.ts";

/** Prints rows under a head. Cells are made safe here. */
export function printTable(
  terminal: Terminal,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  const { out } = terminal;
  const cells = [head, ...rows].map((row) => row.map(visible));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => (row[column] ?? "").length)));
  for (const [index, row] of cells.entries()) {
    const line = row.map((cell, column) =>
      column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)
    ).join("  ");
    const cut = out.isTerminal ? cutTo(line, terminal.columns) : line;
    out.line(index === 0 ? out.style.dim(cut) : cut);
  }
}

/** The beginning of a text, with an ellipsis where something was left out. */
export function cutTo(text: string, charactersMax: number): string {
  const characters = [...text];
  return characters.length <= charactersMax
    ? text
    : `${characters.slice(0, Math.max(charactersMax - 1, 0)).join("")}…`;
}

/** A time of the journal, for people: in their own zone, to the millisecond. */
export function timeText(atMs: number): string {
  const at = new Date(atMs);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  return `${day} ${time}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

/** A duration for people. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000
    ? `${(ms / 1_000).toFixed(1)} s`
    : `${Math.floor(ms / 60_000)} min ${Math.round(ms % 60_000 / 1_000)} s`;
}
