/** `troupe doctor`. */
import { refuseMissing } from "../host/reader_host.ts";
import type { Check } from "../host/installation.ts";
import { backUp, refuseTaken } from "../host/store_copy.ts";
import { lookAround, type SurroundingsReport } from "../host/store_surroundings.ts";
import { type Examination, examine, type Salvage, salvage } from "../journal/doctor.ts";
import { type Finding, findingAt, findingKinds, worstOf } from "../journal/finding.ts";
import { openKvStore } from "../journal/kv_store.ts";
import { firstHolder } from "../journal/lease_rows.ts";
import { isAddress } from "../journal/remote_address.ts";
import { openSqliteFile } from "../journal/sqlite_file.ts";
import { type Store, StoreError } from "../journal/store.ts";
import { realStorePath } from "../journal/store_file.ts";
import { sweep } from "../journal/sweep.ts";
import { checkReadable, readStoreFormat } from "../journal/store_format.ts";
import { lockStore, readOwnerNote, type StoreLock } from "../journal/store_lock.ts";
import { type Cli, defineCommand, jsonOption, storeOption } from "./cli.ts";
import { judgeInstallation, lookAtInstallation, printInstallation } from "./doctor_installation.ts";
import { type Diagnosis, placeOf, print, printJson } from "./doctor_text.ts";
import { CheckFailedError, type ExitCode, exitCodes, UsageError } from "./exit.ts";
import { locateStore, lockPatiently } from "./host.ts";
import { jsonLine } from "./json_line.ts";
import { withProgress } from "./progress.ts";
import { safeText } from "./terminal.ts";

/** Checks a store. */
export const command = defineCommand({
  args: ["[AGENT]"],
  about: [
    "Without --store and an order, looks at the installation first: the program, its rights, Deno KV, the store's folder,",
    "disk and clock; with AGENT at its MCP servers, too: those that are trusted are started. Then, if there is one,",
    "checks a store: SQLite's own structure, every stream (hashes, chain, head, blobs, snapshot), every row",
    "against the streams, and what stands around the file: owner, mode, disk, processes that were left.",
    "Reads only, also beside a process that runs the store. Never repairs in place:",
    "--salvage copies the sound beginning of every stream into a new store. What a stream that lost its end",
    "was doing is stopped there; whether an effect that was open had happened is asked, never tried again.",
    "--sweep takes away blobs that no entry names, once two sweeps a day apart found them so; nothing may run the store.",
    "--backup writes a whole copy, also while the store is run, and checks it. To restore, stop the process",
    "and start with the copy (--store FILE): it takes the next epoch and knows nothing of what came later.",
    "Never run both: each file has a lock of its own, and neither knows of the other.",
    "Exit code 0 well, 1 something to look at, 3 damaged; notes count for nothing.",
  ],
  options: {
    store: storeOption,
    salvage: { kind: "text", value: "NEW", help: "copy what is sound into this new store" },
    sweep: { kind: "flag", help: "free what crashes left behind: large results without an entry" },
    backup: { kind: "text", value: "FILE", help: "write a copy of the store to this new file, and check it" },
    json: jsonOption,
  },
  examples: [
    "troupe doctor",
    "troupe doctor ./my-agent",
    "troupe doctor --store ./broken.db --salvage ./saved.db",
    "troupe doctor --backup ./backup.db",
    "troupe doctor --sweep",
  ],
  run: async (
    { cli, options: { store: asked, salvage: saved, backup, sweep: isSweep, json }, args: [agent] },
  ) => {
    const orders = [saved !== undefined, backup !== undefined, isSweep].filter(Boolean).length;
    if (orders > 1) {
      throw new UsageError(
        "options_conflict",
        "Cannot salvage, sweep and back up at once: take one after the other",
      );
    }
    const location = await locateStore(cli, asked);
    const looksAround = agent !== undefined || (asked === undefined && orders === 0);
    const checks = looksAround ? await lookAtInstallation(cli, location, agent) : [];
    if (!json) printInstallation(cli, checks);
    if (looksAround && asked === undefined && await isAbsent(location)) {
      return tellFresh(cli, { location, checks, json });
    }
    const diagnosis = isSweep
      ? await sweepFile(cli, location)
      : isAddress(location)
      ? await diagnoseRemote(cli, location, saved ?? backup)
      : await diagnoseFile(cli, location, { saved, backup });
    if (json) printJson(cli, diagnosis, checks);
    else print(cli, diagnosis);
    judge(diagnosis);
    judgeInstallation(checks);
    return exitCodes.ok;
  },
});

/** True if a store in a file was not made yet. */
async function isAbsent(location: string): Promise<boolean> {
  if (isAddress(location)) return false;
  try {
    await refuseMissing(location);
    return false;
  } catch (error) {
    if (error instanceof StoreError && error.code === "store_not_found") return true;
    throw error;
  }
}

interface Fresh {
  readonly location: string;
  readonly checks: readonly Check[];
  readonly json: boolean;
}

/** Before the first run there is no store, and nothing wrong with that. */
function tellFresh({ terminal: { out } }: Cli, { location, checks, json }: Fresh): ExitCode {
  if (json) out.line(jsonLine({ installation: checks, store: null }));
  else out.line(safeText(`There is no store yet: the first run makes ${location}`));
  judgeInstallation(checks);
  return exitCodes.ok;
}

interface FileOrder {
  readonly saved: string | undefined;
  readonly backup: string | undefined;
}

/** A remote store is looked at through its server; its file is that server's business. */
async function diagnoseRemote(cli: Cli, location: string, target: string | undefined): Promise<Diagnosis> {
  if (target !== undefined) {
    throw new StoreError("store_unusable", `Cannot copy "${location}": only the server that keeps it can`);
  }
  const store = await openKvStore(location, { mustExist: true, log: cli.seams.log });
  try {
    await refuseForeign(store, location);
    await refuseHeld(store, cli.seams.clock.now());
    const { counts, findings } = await look(cli, store);
    return { location, counts, findings, surroundings: undefined, salvaged: undefined, backup: undefined };
  } finally {
    store.close();
  }
}

/** Sweeps a store that is whole and that nobody runs: what cannot be read might name anything. */
async function sweepFile(cli: Cli, location: string): Promise<Diagnosis> {
  if (isAddress(location)) {
    throw new StoreError(
      "store_unusable",
      `Cannot sweep "${location}": only a store in a file of this machine`,
    );
  }
  await refuseMissing(location);
  const lock = await lockPatiently(cli, location);
  try {
    const store = await openKvStore(location, { mustExist: true, log: cli.seams.log });
    try {
      await refuseForeign(store, location);
      const { counts, findings } = await look(cli, store);
      const told = { location, counts, surroundings: undefined, salvaged: undefined, backup: undefined };
      if (worstOf(findings) === "damage") return { ...told, findings };
      const swept = await withProgress(cli, "sweeping", () => sweep(store, cli.seams.clock.now()));
      return { ...told, findings: findings.filter(({ code }) => code !== "blobs_orphaned"), swept };
    } finally {
      store.close();
    }
  } finally {
    await lock.release();
  }
}

/** What is written while it is looked at would seem to be damaged. */
async function refuseHeld(store: Store, nowMs: number): Promise<void> {
  const holder = await firstHolder(store, nowMs);
  if (holder === undefined) return;
  throw new StoreError(
    "store_in_use",
    `Cannot check store: ${holder} holds sessions of it; stop that runtime first`,
  );
}

async function diagnoseFile(cli: Cli, location: string, { saved, backup }: FileOrder): Promise<Diagnosis> {
  await refuseMissing(location);
  const note = await readOwnerNote(await realStorePath(location));
  const lock = await tryLock(cli, location, saved !== undefined);
  try {
    const isOurs = lock !== undefined;
    if (backup !== undefined) return await backUpAndCheck(cli, location, { file: backup, isOurs });
    if (saved !== undefined) await refuseTaken(saved, "salvage into");
    const store = await openSqliteFile(await realStorePath(location), { isOurs });
    try {
      await refuseForeign(store, location);
      const around = await lookAround(location, { note, isOurs, digest: cli.seams.digest });
      const salvaged = saved === undefined ? undefined : await salvageTo(cli, store, saved);
      const examination = salvaged?.examination ?? await look(cli, store);
      const findings = [...problemsOf(store.problems()), ...examination.findings, ...around.findings];
      return { ...whole(location, examination, around), findings, salvaged, backup: undefined };
    } finally {
      store.close();
    }
  } finally {
    await lock?.release();
  }
}

/** Holds the store if nobody else does. A salvage of a store that runs would make two that act. */
async function tryLock(cli: Cli, location: string, isNeeded: boolean): Promise<StoreLock | undefined> {
  if (isNeeded) return await lockPatiently(cli, location);
  try {
    return await lockStore(location, cli.seams.clock);
  } catch (error) {
    if (error instanceof StoreError && error.code === "store_in_use") return undefined;
    throw error;
  }
}

async function backUpAndCheck(
  cli: Cli,
  location: string,
  { file, isOurs }: { readonly file: string; readonly isOurs: boolean },
): Promise<Diagnosis> {
  const bytes = await withProgress(cli, "copying", () => backUp(location, file, { isOurs }));
  const path = await realStorePath(file);
  const store = await openSqliteFile(path, { isOurs: true });
  try {
    await refuseForeign(store, file);
    const examination = await look(cli, store);
    const around = await lookAround(file, { note: undefined, isOurs: true, digest: cli.seams.digest });
    const findings = [...problemsOf(store.problems()), ...examination.findings, ...around.findings];
    return { ...whole(file, examination, around), findings, salvaged: undefined, backup: { file, bytes } };
  } finally {
    store.close();
  }
}

function whole(location: string, { counts }: Examination, { surroundings }: SurroundingsReport) {
  return { location, counts, surroundings };
}

async function look(cli: Cli, store: Store): Promise<Examination> {
  const { digest, clock } = cli.seams;
  return await withProgress(cli, "checking", (tell) => examine(store, digest, { now: clock.now(), tell }));
}

async function refuseForeign(store: Store, location: string): Promise<void> {
  const format = await readStoreFormat(store);
  if (format === undefined) {
    throw new StoreError("store_not_found", `Cannot check store "${location}": it is empty`);
  }
  checkReadable(format);
}

async function salvageTo(
  cli: Cli,
  source: Store,
  file: string,
): Promise<Salvage & { readonly file: string }> {
  const lock = await lockPatiently(cli, file);
  try {
    const target = await openKvStore(file, { log: cli.seams.log });
    try {
      const { digest, clock } = cli.seams;
      const saved = await withProgress(
        cli,
        "salvaging",
        (tell) => salvage(source, target, digest, { now: clock.now(), tell }),
      );
      return { ...saved, file };
    } finally {
      target.close();
    }
  } finally {
    await lock.release();
  }
}

function problemsOf(problems: readonly string[]): readonly Finding[] {
  return problems.map((problem) => findingAt("file", "file_damaged", `SQLite says: ${problem}`));
}

/** Throws unless all is well: the last line says what weighs most. */
function judge({ findings, location, backup }: Diagnosis): void {
  const weight = worstOf(findings);
  if (weight === undefined || weight === "note") return;
  const [first, ...rest] = findings.filter(({ code }) => findingKinds[code].weight === weight);
  if (first === undefined) return;
  const more = rest.length === 0 ? "" : `, and ${rest.length} more`;
  const what = backup === undefined ? `The store "${location}"` : `The copy "${location}"`;
  if (weight === "damage") {
    throw new StoreError("journal_corrupt", `${what} is damaged: ${placeOf(first)}${more}`);
  }
  throw new CheckFailedError(
    "store_needs_attention",
    `${what} is whole, and something needs a look: ${first.code} of ${placeOf(first)}${more}`,
  );
}
