/** What `troupe doctor` says: one line for each finding, with what it means and what to do. */
import type { Check } from "../host/installation.ts";
import type { Surroundings } from "../host/store_surroundings.ts";
import type { Examination, Salvage } from "../journal/doctor.ts";
import { type Finding, findingKinds, type FindingWeight } from "../journal/finding.ts";
import type { Sweep } from "../journal/sweep.ts";
import type { Cli } from "./cli.ts";
import { jsonLine } from "./json_line.ts";
import { safeText } from "./terminal.ts";

/** All that one call of the doctor found and did. */
export interface Diagnosis {
  /** File or address that was looked at: after a backup, the copy. */
  readonly location: string;
  readonly counts: Examination["counts"];
  readonly findings: readonly Finding[];
  readonly surroundings: Surroundings | undefined;
  readonly salvaged: (Salvage & { readonly file: string }) | undefined;
  readonly swept?: Sweep | undefined;
  readonly backup: { readonly file: string; readonly bytes: number } | undefined;
}

/** Most findings of one kind that are shown; `--json` has all. */
const shownMax = 20;

/** Prints a diagnosis for programs, with what was seen of the installation if that was looked at. */
export function printJson(
  { terminal: { out } }: Pick<Cli, "terminal">,
  diagnosis: Diagnosis,
  checks: readonly Check[],
): void {
  const { counts, findings, surroundings = null, salvaged, swept = null, backup = null } = diagnosis;
  const saved = salvaged === undefined ? null : {
    file: salvaged.file,
    streams: salvaged.streams,
    entries: salvaged.entries,
    cut: salvaged.cut,
    lost: salvaged.lost,
  };
  const told = findings.map((finding) => ({ ...finding, ...findingKinds[finding.code] }));
  const installation = checks.length === 0 ? {} : { installation: checks };
  out.line(
    jsonLine({ ...installation, counts, findings: told, surroundings, salvaged: saved, swept, backup }),
  );
}

/** Prints a diagnosis for people. */
export function print(cli: Pick<Cli, "terminal">, diagnosis: Diagnosis): void {
  const { out } = cli.terminal;
  const { counts, findings, surroundings, swept, backup } = diagnosis;
  const { streams, entries, values, blobs, snapshots } = counts;
  if (backup !== undefined) out.line(safeText(`backed up ${backup.bytes} bytes into ${backup.file}`));
  out.line(
    `checked ${streams} streams: ${entries} entries in ${values} values, ${blobs} blobs, ${snapshots} snapshots`,
  );
  if (surroundings !== undefined) out.line(out.style.dim(safeText(lineOf(surroundings))));
  for (const weight of ["damage", "attention", "note"] as const) printFindings(cli, findings, weight);
  if (findings.every(({ code }) => findingKinds[code].weight === "note")) {
    out.line(out.style.green("  nothing is wrong"));
  }
  printSalvage(cli, diagnosis);
  if (swept !== undefined) out.line(sweptText(swept));
}

function sweptText({ freed, bytes, waiting }: Sweep): string {
  const rest = waiting === 0 ? "" : `; ${waiting} more are swept once they were without a name for 24 h`;
  return `swept ${freed} blobs of ${bytes} bytes that nothing names${rest}`;
}

function lineOf({ file, bytes, mode, logBytes, diskFreeBytes, owner }: Surroundings): string {
  const held = owner === null
    ? "nobody holds it"
    : owner.isAlive
    ? `process ${owner.pid} holds it since ${owner.since}`
    : `process ${owner.pid} held it`;
  const free = diskFreeBytes === null ? "" : `, ${diskFreeBytes} bytes free`;
  return `${file}: ${bytes} bytes and ${logBytes} in its log, mode ${mode ?? "unknown"}${free}; ${held}`;
}

function printFindings(
  { terminal: { out } }: Pick<Cli, "terminal">,
  findings: readonly Finding[],
  weight: FindingWeight,
): void {
  const paint = { damage: out.style.red, attention: out.style.yellow, note: out.style.dim }[weight];
  const shown = new Map<string, number>();
  for (const finding of findings) {
    const { code, message } = finding;
    const kind = findingKinds[code];
    if (kind.weight !== weight) continue;
    const count = (shown.get(code) ?? 0) + 1;
    shown.set(code, count);
    if (count <= shownMax) {
      out.line(`  ${paint(code)}  ${safeText(`${placeOf(finding)}: ${message}; ${kind.advice}`)}`);
    }
  }
  for (const [code, count] of shown) {
    if (count > shownMax) out.line(`  ${paint(code)}  ${count - shownMax} more; --json lists all`);
  }
}

function printSalvage({ terminal: { out } }: Pick<Cli, "terminal">, { salvaged }: Diagnosis): void {
  if (salvaged === undefined) return;
  const { entries, streams, file, cut, lost } = salvaged;
  out.line(safeText(`salvaged ${entries} entries of ${streams} streams into ${file}`));
  for (const { root, kept, lost: end, becomes } of cut) {
    const range = end > kept
      ? `lost its entries ${kept + 1} to ${end}`
      : "may have lost what came after its end";
    const then = becomes === "stopped"
      ? "what it was doing is stopped there, and nothing of it repeated"
      : "it is quarantined there";
    out.line(`  ${safeText(`${root} ${range}: ${then}`)}`);
  }
  if (lost.commands + lost.letters > 0) {
    out.line(`  ${lost.commands} commands and ${lost.letters} messages on their way are lost`);
  }
}

/** Where a finding is, in a line. */
export function placeOf({ root, first, last }: Finding): string {
  if (last === 0) return root;
  return first === last ? `${root} entry ${first}` : `${root} entries ${first} to ${last}`;
}
