/** `troupe replay`. */
import type { Entry } from "../../schemas/entry.ts";
import type { ForkOrigin } from "../../schemas/fork.ts";
import { originIn } from "../fork_origin.ts";
import { type RootAddress, sessionOf } from "../../schemas/ids.ts";
import { isInterned } from "../../actors/library.ts";
import { readJson } from "../border.ts";
import { shelve } from "../effects/shelved.ts";
import { createBlobLoader } from "../fixture/fixture_blobs.ts";
import { readFixture } from "../fixture/read_fixture.ts";
import type { Records } from "../host/host.ts";
import type { ReplayReport } from "../kernel/replay.ts";
import { pagesOf, replayStream } from "../stream_replay.ts";
import { type Call, type Cli, defineCommand, jsonOption, storeOption } from "./cli.ts";
import { exitCodes, UsageError } from "./exit.ts";
import { exportLineBounds } from "../export/export_format.ts";
import { createShelvedLoader, readExport } from "../export/export_read.ts";
import { locateStore, openReading } from "./host.ts";
import { jsonLine } from "./json_line.ts";
import { withProgress } from "./progress.ts";
import { compareAgainst, printAgainst, refuseDrift } from "./replay_against.ts";
import { diverged, printReplays } from "./replay_text.ts";
import { type RootState, stateOf } from "./replay_state.ts";
import { chunksOf, isFile, isFolder, openFile } from "./run_source.ts";
import { replayWhatIf } from "./replay_what_if.ts";
import { findSession } from "./session_name.ts";

const options = {
  store: storeOption,
  strict: {
    kind: "flag",
    help: "also save and restore the state after every message, as a restart there would",
  },
  "any-code": {
    kind: "flag",
    help: "replay what other code wrote too; it may diverge where that code decided otherwise",
  },
  until: {
    kind: "number",
    value: "SEQ",
    min: 1,
    help: "replay this root alone, up to this entry and all that its message caused",
  },
  state: { kind: "flag", help: "show where the machines are then: the root, what is in it, what waits" },
  against: {
    kind: "text",
    value: "AGENT",
    help: "do not replay: list the tools that are not what this agent would get now, field by field",
  },
  "what-if": {
    kind: "text",
    value: "FILE",
    help: "list the calls that the host's policy in this YAML file would have decided otherwise",
  },
  json: jsonOption,
} as const;

/** Replays a session and compares. */
export const command = defineCommand({
  args: ["SESSION|FILE"],
  about: [
    "Feeds the journal of a session to its machines again: no model, no tool, no network, nothing is written.",
    "Compares every intent that the machines ask for with the recorded one, the state where its hash was recorded,",
    "the tools that the model was told of, and the entries that calls were made with. A divergence names address,",
    "entry, what was expected and what came; exit code 1.",
    "A session is replayed with its catalog and its connections; no server is started.",
    "With --what-if every recorded call is judged again under another policy of the host, as it would stand in the",
    "host's troupe.yaml, alone or as its policy; nothing is performed, and what the model would then have done is not",
    "asked. Exit code 1 if a call would have been decided otherwise.",
    "FILE is what troupe export wrote, also as a fixture (anything with a dot or a slash); it needs no store. SESSION",
    "is an id, an unambiguous part of one, an address such as catalog/ses_…, or last.",
  ],
  options,
  examples: [
    "troupe replay last",
    "troupe replay ./session.jsonl",
    "troupe replay last --strict --json",
    "troupe replay last --until 16 --state",
    "troupe replay last --against ./my-agent",
    "troupe replay last --what-if policy.yaml",
  ],
  run,
});

async function run({ cli, options: given, args }: Call<typeof options>): Promise<0> {
  const name = args[0] ?? "";
  if (given.against !== undefined) return await runAgainst(cli, name, { ...given, against: given.against });
  const whatIf = given["what-if"];
  if (whatIf !== undefined) {
    const { store, json } = given;
    return await replayWhatIf(cli, { name, policy: whatIf, store, json });
  }
  const { strict, until, state } = given;
  const modes = { anyCode: given["any-code"], strict, until, state };
  const replays = isFile(name)
    ? await replayNamed(cli, name, modes)
    : await replayStored(cli, name, { ...modes, store: given.store });
  if (given.json) { for (const replayed of replays) cli.terminal.out.line(replayLine(replayed)); }
  else printReplays(cli.terminal, replays);
  refuseDivergence(replays);
  return exitCodes.ok;
}

/** Compares the catalogs of a session with what an agent would have now, and replays nothing. */
async function runAgainst(
  cli: Cli,
  name: string,
  given: { readonly against: string; readonly store: string | undefined; readonly json: boolean },
): Promise<0> {
  if (isFile(name)) {
    throw new UsageError(
      "option_invalid",
      "--against is for a session of a store: a file has no servers' offers",
    );
  }
  const host = await openReading(cli, await locateStore(cli, given.store));
  try {
    const { address: session } = await findSession(host, name);
    const report = await compareAgainst(cli, host, { session, agent: given.against });
    printAgainst(cli.terminal, report, given.json);
    refuseDrift(report);
    return exitCodes.ok;
  } finally {
    await host.close();
  }
}

function replayLine({ report, durationMs, state }: TimedReplay): string {
  const shown = state === undefined ? {} : { state };
  return jsonLine({ ...report, divergence: report.divergence ?? null, durationMs, ...shown });
}

/** Throws the first divergence, if there is one. */
export function refuseDivergence(replays: readonly TimedReplay[]): void {
  const divergence = replays.find(({ report }) => report.divergence !== undefined)?.report.divergence;
  if (divergence !== undefined) throw diverged(divergence);
}

/** What a replay is told besides the entries. */
export interface ReplayModes {
  readonly anyCode: boolean;
  readonly strict: boolean;
  /** The entry to stop at; undefined for the last one. */
  readonly until?: number | undefined;
  /** True if states are to be shown. */
  readonly state?: boolean;
}

/** A replay and how long it took, reading included. */
export interface TimedReplay {
  readonly report: ReplayReport;
  readonly durationMs: number;
  /** Where the machines are behind the last entry, if that was asked for. */
  readonly state?: RootState;
}

async function replayStored(
  cli: Cli,
  name: string,
  { store, ...modes }: ReplayModes & { readonly store: string | undefined },
): Promise<readonly TimedReplay[]> {
  const host = await openReading(cli, await locateStore(cli, store));
  try {
    const { address, origin } = await findSession(host, name);
    // An entry is one of one stream.
    if (modes.until !== undefined) return [await replayRecords(cli, host, { address, origin, ...modes })];
    return await replaySession(cli, host, { address, ...modes });
  } finally {
    await host.close();
  }
}

/** Replays a session and the roots that serve it, its catalog and its connections; of another root, that root alone. */
export async function replaySession(
  cli: Cli,
  records: Records,
  { address, ...modes }: ReplayModes & { readonly address: RootAddress },
): Promise<readonly TimedReplay[]> {
  const all = await records.listRoots();
  const roots = all.map((root) => root.address)
    .filter((root) => root !== address && sessionOf(root) === address);
  const replays: TimedReplay[] = [];
  for (const root of [address, ...roots]) {
    const origin = all.find((record) => record.address === root)?.origin;
    replays.push(await replayRecords(cli, records, { address: root, origin, ...modes }));
  }
  return replays;
}

/** Replays one root of a store. */
export async function replayRecords(
  cli: Cli,
  records: Pick<Records, "readPages" | "readBlob">,
  { address, ...modes }: ReplayModes & {
    readonly address: RootAddress;
    readonly origin?: ForkOrigin | undefined;
  },
): Promise<TimedReplay> {
  const loadShelved = async (hash: string) => {
    if (isInterned(hash)) return;
    const bytes = await records.readBlob(hash);
    shelve(hash, readJson(new TextDecoder().decode(bytes), exportLineBounds));
  };
  return await timed(cli, { address, pages: records.readPages(address), loadShelved, ...modes });
}

/** An export, or the folder of a fixture: troupe verify tells more of that, and this shows its states. */
async function replayNamed(cli: Cli, name: string, modes: ReplayModes): Promise<readonly TimedReplay[]> {
  if (!await isFolder(name)) return [await replayFile(cli, name, modes)];
  const { roots, blobs } = await readFixture(name.replace(/(?<=.)\/+$/, ""), cli.seams.digest);
  const loadShelved = createBlobLoader(blobs);
  const replays: TimedReplay[] = [];
  // The session comes first, and an entry is one of one stream.
  for (const { root: { address }, entries } of modes.until === undefined ? roots : roots.slice(0, 1)) {
    replays.push(await timed(cli, { address, pages: pagesOf(entries), loadShelved, ...modes }));
  }
  return replays;
}

async function replayFile(cli: Cli, name: string, modes: ReplayModes): Promise<TimedReplay> {
  using file = await openFile(name);
  const read = await withProgress(
    cli,
    `reading ${name}`,
    () => readExport(chunksOf(file), name, cli.seams.digest),
  );
  return await timed(cli, {
    address: read.header.address,
    pages: pagesOf(read.entries),
    loadShelved: createShelvedLoader(read),
    origin: read.entries.map(originIn).find((origin) => origin !== undefined),
    ...modes,
  });
}

type Source = ReplayModes & {
  readonly origin?: ForkOrigin | undefined;
  readonly address: RootAddress;
  readonly pages: AsyncIterable<readonly Entry[]>;
  readonly loadShelved: (hash: string) => Promise<void>;
};

async function timed(cli: Cli, { until, state = false, ...source }: Source): Promise<TimedReplay> {
  const { clock, digest } = cli.seams;
  const startedAt = clock.now();
  let shown: RootState | undefined;
  const report = await withProgress(cli, `replaying ${source.address}`, (tell) =>
    replayStream({
      ...source,
      digest,
      onProgress: (entries) => tell(`${entries} entries`),
      ...(until === undefined ? {} : { until }),
      ...(state ? { show: (root) => shown = stateOf(root) } : {}),
    }));
  const durationMs = clock.now() - startedAt;
  if (report.divergence !== undefined) return { report, durationMs };
  // Streams have no gaps: as many entries as there are, so far they go.
  if (until !== undefined && until > report.entries) throw beyondEnd(source.address, until, report.entries);
  if (state && shown === undefined) throw notReplayed(source.address);
  return { report, durationMs, ...(shown === undefined ? {} : { state: shown }) };
}

function beyondEnd(address: RootAddress, until: number, last: number): UsageError {
  return new UsageError("entry_not_found", `"${address}" has no entry ${until}: its last one is ${last}`);
}

function notReplayed(address: RootAddress): UsageError {
  const why = "other code wrote it, and only that has its states; --any-code replays it all the same";
  return new UsageError("state_unavailable", `Cannot show the state of "${address}": ${why}`);
}
