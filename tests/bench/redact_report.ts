/** Figures of redaction as text. */
import type { RedactRoundsFigures } from "./redact_rounds.ts";
import { digits, duration, grouped, tableOf, times } from "./table.ts";

/** Speeds of the matcher, beside loops of `String.includes`, and of whole redactions. */
export function redactTable({ secrets, forms, buildMs, kinds, pieceMs }: RedactRoundsFigures): string {
  const rows = kinds.map(({ name, literals, includesPlain, includesForms, text, json }) => [
    name,
    digits(literals),
    digits(includesPlain),
    digits(includesForms),
    times(literals / includesForms),
    digits(text),
    digits(json),
  ]);
  const heading = ["redaction, MB/s", "literals", "includes", "all forms", "literals / them", "text", "JSON"];
  return [
    tableOf(heading, rows),
    `${secrets} secrets in ${grouped(forms)} forms, whose matcher is built in ${
      duration(buildMs)
    }. "includes" looks for`,
    `each secret as it is, "all forms" for each of its forms as the matcher does. A piece of a stream of 64 characters`,
    `takes ${duration(pieceMs.median)}, p99 ${duration(pieceMs.p99)}`,
  ].join("\n");
}
