/** What the replay of a fixture found: for people, for programs, and for JUnit. */
import type { Json } from "../../schemas/json.ts";
import type { FieldDrift } from "../field_drift.ts";
import { FixtureError } from "../fixture/fixture_format.ts";
import type { FixtureReplay, RootReplay } from "../fixture/replay_fixture.ts";
import type { Divergence } from "../kernel/feed.ts";
import { peekText } from "../peek.ts";
import { jsonLine } from "./json_line.ts";
import type { TestSuite } from "./junit.ts";
import { cutTo } from "./table.ts";
import { safeText, type Terminal } from "./terminal.ts";

/** One fixture that was looked at. */
export interface Verified {
  readonly folder: string;
  readonly found: FixtureReplay | FixtureError;
  readonly durationMs: number;
}

/** Longest value of a field that is shown, in characters. */
const shownCharactersMax = 200;

/** Prints one fixture: a line if all is the same, otherwise each divergence. */
export function printVerified({ out }: Terminal, { folder, found }: Verified): void {
  const { green, red, yellow } = out.style;
  if (found instanceof FixtureError) {
    out.line(`${red("!")} ${safeText(folder)}  [${found.code}]`);
    return;
  }
  const { roots } = found;
  const diverged = roots.filter(({ report }) => report.divergence !== undefined);
  const mark = diverged.length === 0 ? green("✓") : red("✗");
  out.line(`${mark} ${safeText(folder)}  ${safeText(countsText(roots))}`);
  const note = otherCodeText(found);
  if (note !== "") out.line(yellow(`  ${safeText(note)}`));
  for (const root of diverged) {
    for (const line of divergenceLines(root)) out.line(`  ${safeText(line)}`);
  }
}

function countsText(roots: readonly RootReplay[]): string {
  const sum = (count: (root: RootReplay) => number) => roots.reduce((total, root) => total + count(root), 0);
  const entries = sum(({ report }) => report.entries);
  const asks = sum(({ report }) => report.intents);
  const states = sum(({ report }) => report.states);
  return `${roots.length} streams, ${entries} entries, ${asks} asks and ${states} states compared`;
}

/** Says that other code recorded a fixture; "" if it did not. */
function otherCodeText({ roots, release }: FixtureReplay): string {
  const others = roots.filter(({ isOtherCode }) => isOtherCode);
  if (others.length === 0) return "";
  const differ = others.reduce((sum, { statesDiffer }) => sum + statesDiffer, 0);
  return `recorded by other code (release ${release}): what is asked is compared, ${differ} states differ`;
}

/** A divergence in lines: where it is, what was asked, what was recorded, and the fields that differ. */
export function divergenceLines({ report, differences }: RootReplay): readonly string[] {
  const { divergence } = report;
  if (divergence === undefined) return [];
  const { address, seq, what, expected, got } = divergence;
  return [
    `"${address}" diverges at entry ${seq}: ${what}`,
    `  asked     ${sideText(got)}`,
    `  recorded  ${sideText(expected)}`,
    ...differences.map((field) => `  ${driftText(field)}`),
  ];
}

/** An intent by its name; any other value as it is. */
function sideText(side: Json): string {
  if (side === null) return "nothing";
  const [kind, type] = [peekText(side, "kind"), peekText(side, "type")];
  if (kind === "") return cutTo(jsonLine(side), shownCharactersMax);
  const args = peekText(side, "body", "args", "entry", "name") ||
    peekText(side, "body", "args", "invocation");
  return `${kind} ${type}${args === "" ? "" : ` ${args}`}`;
}

/** `args.arguments.path: "a" -> "b"`: what was, and what is. */
export function driftText({ path, before, after }: FieldDrift): string {
  const text = (value: Json | undefined) =>
    value === undefined ? "nothing" : cutTo(jsonLine(value), shownCharactersMax);
  return `${path === "" ? "all" : path}: ${text(before)} -> ${text(after)}`;
}

/** A line for each stream, or one for a fixture that cannot be used. */
export function verifiedLines({ folder, found }: Verified): readonly object[] {
  if (found instanceof FixtureError) {
    return [{ fixture: folder, error: { code: found.code, message: found.message } }];
  }
  return found.roots.map(({ report, isOtherCode, statesDiffer, differences }) => {
    const { address, entries, intents, states, divergence } = report;
    const code = isOtherCode
      ? { otherCode: true, release: found.release, statesDiffer }
      : { otherCode: false };
    return {
      fixture: folder,
      address,
      entries,
      asks: intents,
      states,
      ...code,
      divergence: divergence === undefined ? null : { ...told(divergence), differences },
    };
  });
}

function told({ seq, what, expected, got }: Divergence): object {
  return { seq, what, asked: got, recorded: expected };
}

/** A fixture as a suite: a case for each stream. */
export function suiteOf({ folder, found, durationMs }: Verified): TestSuite {
  if (found instanceof FixtureError) {
    const error = { message: found.message, type: found.code };
    return { name: folder, cases: [{ name: "fixture", error }], durationMs };
  }
  const cases = found.roots.map((root) => {
    const { address, divergence } = root.report;
    if (divergence === undefined) return { name: address };
    const [message = "", ...rest] = divergenceLines(root);
    return { name: address, failure: { message, text: [message, ...rest].join("\n") } };
  });
  return { name: folder, cases, durationMs };
}
