/** Figures of catalogs as text. */
import type { CatalogFigures } from "./catalog_rounds.ts";
import { duration, grouped, tableOf } from "./table.ts";

/** What catalogs of several sizes take. */
export function catalogTable(found: readonly CatalogFigures[]): string {
  const rows = found.map(({ tools, fresh, oneServer, unchanged, unchangedP99, exposed }) => [
    grouped(tools),
    duration(fresh),
    duration(oneServer),
    duration(unchanged),
    duration(unchangedP99),
    duration(exposed),
  ]);
  return [
    tableOf(
      ["catalog, tools", "fresh", "one server of ten changed", "unchanged", "p99", "chosen for a step"],
      rows,
    ),
    'To resolve and seal; "unchanged" is what it takes to know that a renewal brought nothing new. "chosen" is of',
    "which tools a step tells its model, the catalog having been looked at before.",
  ].join("\n");
}
