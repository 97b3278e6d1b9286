/** Aligned columns for the terminal, and figures in units that can be read. */

/** Lays out rows under a heading: the first column to the left, the others to the right. */
export function tableOf(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [heading, ...rows];
  const widths = heading.map((_, column) => Math.max(...all.map((row) => (row[column] ?? "").length)));
  const lines = all.map((row) =>
    row.map((cell, column) => {
      const width = widths[column] ?? 0;
      return column === 0 ? cell.padEnd(width) : cell.padStart(width);
    }).join("  ").trimEnd()
  );
  lines.splice(1, 0, widths.map((width) => "-".repeat(width)).join("  "));
  return lines.join("\n");
}

/** Milliseconds as text: three digits that count, in the unit that fits. */
export function duration(ms: number): string {
  if (Number.isNaN(ms)) return "-";
  if (ms < 1) return `${digits(ms * 1_000)} us`;
  return ms < 1_000 ? `${digits(ms)} ms` : `${digits(ms / 1_000)} s`;
}

/** Three digits that count. */
export function digits(value: number): string {
  if (Number.isNaN(value)) return "-";
  if (value === 0) return "0";
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  const text = value.toFixed(Math.min(decimals, 3));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : grouped(text);
}

/** A whole number with its thousands apart. */
export function grouped(value: number | string): string {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** A ratio, or a dash where there is no other side. */
export function times(ratio: number): string {
  return Number.isNaN(ratio) ? "-" : `${digits(ratio)}x`;
}

/** Bytes in KiB. */
export function kib(bytes: number): string {
  return `${digits(bytes / 1_024)} KiB`;
}

/** Bytes in MiB. */
export function mib(bytes: number): string {
  return `${digits(bytes / 1_048_576)} MiB`;
}
