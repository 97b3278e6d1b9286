/** `troupe doctor`. */
import { refuseMissing } from "../host/reader_host.ts";
import { type Examination, examine, type Finding, type Salvage, salvage } from "../journal/doctor.ts";
import { openKvStore } from "../journal/kv_store.ts";
import { firstHolder } from "../journal/leases.ts";
import { isAddress } from "../journal/remote_address.ts";
import { type Store, StoreError } from "../journal/store.ts";
import { checkReadable, readStoreFormat } from "../journal/store_format.ts";
import { type Cli, defineCommand, jsonOption, storeOption } from "./cli.ts";
import { exitCodes } from "./exit.ts";
import { locateStore, lockPatiently } from "./host.ts";
import { jsonLine } from "./json_line.ts";
import { withProgress } from "./progress.ts";
import { safeText } from "./terminal.ts";

/** Checks a store. */
export const command = defineCommand({
  args: [],
  about: [
    "Checks every stream of a store: hashes, chain, heads, blobs, snapshots. Names each damaged range of entries.",
    "Never repairs in place: --salvage copies the sound beginning of every stream into a new store.",
    "Exit code 3 if a stream is damaged; a snapshot that does not fit costs only time.",
  ],
  options: {
    store: storeOption,
    salvage: { kind: "text", value: "FILE", help: "copy what is sound into this new store" },
    json: jsonOption,
  },
  examples: ["troupe doctor", "troupe doctor --store ./broken.db --salvage ./saved.db"],
  run: async ({ cli, options }) => {
    const location = await locateStore(cli, options.store);
    await refuseMissing(location);
    const isRemote = isAddress(location);
    const lock = isRemote ? undefined : await lockPatiently(cli, location);
    try {
      const store = await openKvStore(location, { mustExist: true, log: cli.seams.log });
      try {
        await refuseForeign(store, location);
        if (isRemote) await refuseHeld(store, cli.seams.clock.now());
        const found = options.salvage === undefined
          ? {
            examination: await withProgress(cli, "checking", () => examine(store, cli.seams.digest)),
            salvaged: undefined,
          }
          : await salvageTo(cli, store, options.salvage);
        if (options.json) printJson(cli, found);
        else print(cli, found);
        refuseDamage(found.examination, location);
        return exitCodes.ok;
      } finally {
        store.close();
      }
    } finally {
      await lock?.release();
    }
  },
});

/** What is written while it is looked at would seem to be damaged. */
async function refuseHeld(store: Store, nowMs: number): Promise<void> {
  const holder = await firstHolder(store, nowMs);
  if (holder === undefined) return;
  throw new StoreError(
    "store_in_use",
    `Cannot check store: ${holder} holds sessions of it; stop that runtime first`,
  );
}

interface Found {
  readonly examination: Examination;
  readonly salvaged: (Salvage & { readonly file: string }) | undefined;
}

async function refuseForeign(store: Store, location: string): Promise<void> {
  const format = await readStoreFormat(store);
  if (format === undefined) {
    throw new StoreError("store_not_found", `Cannot check store "${location}": it is empty`);
  }
  checkReadable(format);
}

async function salvageTo(cli: Cli, source: Store, file: string): Promise<Found> {
  const lock = await lockPatiently(cli, file);
  try {
    const target = await openKvStore(file, { log: cli.seams.log });
    try {
      const salvaged = await withProgress(cli, "salvaging", () => salvage(source, target, cli.seams.digest));
      return { examination: salvaged.examination, salvaged: { ...salvaged, file } };
    } finally {
      target.close();
    }
  } finally {
    await lock.release();
  }
}

function printJson({ terminal: { out } }: Cli, { examination, salvaged }: Found): void {
  const { findings, counts } = examination;
  const saved = salvaged === undefined ? null : {
    file: salvaged.file,
    streams: salvaged.streams,
    entries: salvaged.entries,
    cut: salvaged.cut,
  };
  out.line(jsonLine({ counts, findings, salvaged: saved }));
}

function print({ terminal: { out } }: Cli, { examination, salvaged }: Found): void {
  const { findings, counts } = examination;
  const { streams, entries, values, blobs, snapshots } = counts;
  out.line(
    `checked ${streams} streams: ${entries} entries in ${values} values, ${blobs} blobs, ${snapshots} snapshots`,
  );
  for (const finding of findings) {
    const { code, message } = finding;
    out.line(`  ${out.style.red(code)}  ${safeText(`${placeOf(finding)}: ${message}`)}`);
  }
  if (findings.length === 0) out.line(out.style.green("  nothing is wrong"));
  if (salvaged === undefined) return;
  out.line(`salvaged ${salvaged.entries} entries of ${salvaged.streams} streams into ${salvaged.file}`);
  for (const root of salvaged.cut) out.line(`  ${safeText(root)} lost its end and is quarantined there`);
}

function placeOf({ root, first, last }: Finding): string {
  if (last === 0) return root;
  return first === last ? `${root} entry ${first}` : `${root} entries ${first} to ${last}`;
}

/** A snapshot is a cache: one that does not fit is no damage. */
function refuseDamage({ findings }: Examination, location: string): void {
  const [first, ...rest] = findings.filter((finding) => finding.code !== "snapshot_unfit");
  if (first === undefined) return;
  const more = rest.length === 0 ? "" : `, and ${rest.length} more`;
  throw new StoreError("journal_corrupt", `The store "${location}" is damaged: ${placeOf(first)}${more}`);
}
