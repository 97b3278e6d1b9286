/** `troupe export`. */
import { type Call, type Cli, defineCommand, jsonOption, storeOption } from "./cli.ts";
import { exitCodes, UsageError } from "./exit.ts";
import { exportFixture } from "./export_fixture.ts";
import { type ExportCounts, type ExportRequest, writeExport } from "../export/export_write.ts";
import { locateStore, openReading } from "./host.ts";
import { jsonLine } from "./json_line.ts";
import { type NewFile, writeNewFile } from "./new_file.ts";
import { withProgress } from "./progress.ts";
import { findSession } from "./session_name.ts";

const options = {
  store: storeOption,
  output: {
    kind: "text",
    short: "o",
    value: "FILE",
    help: "the file to write, with --fixture the folder; - writes to standard output",
  },
  fixture: { kind: "flag", help: "write a folder that troupe verify replays" },
  "keep-paths": {
    kind: "flag",
    help: "with --fixture: leave the names of this machine's folders as they are",
  },
  force: { kind: "flag", help: "replace the file, or the fixture, if it exists" },
  json: jsonOption,
} as const;

/** Writes a session to a file. */
export const command = defineCommand({
  args: ["SESSION"],
  about: [
    "Writes a session to a file that troupe replay can read without a store: a header, the entries, the catalogs and",
    "whole results that they name, and seals, so that an altered or cut file is refused. It holds the whole",
    "conversation: the file is made readable for its owner only.",
    "With --fixture it writes a folder for a repository instead: the session with its catalog, connections and tasks,",
    "the agent, catalogs and offers, hashes of all that, and a manifest; no whole results. The same session gives the",
    "same bytes. Folders of this machine are replaced by placeholders, after which it must still replay; troupe verify",
    "replays it without a store.",
  ],
  options,
  examples: [
    "troupe export last -o session.jsonl",
    "troupe export last -o - | gzip > session.jsonl.gz",
    "troupe export last --fixture -o tests/fixtures/reading",
  ],
  run,
});

async function run({ cli, options: given, args }: Call<typeof options>): Promise<0> {
  const { output, force } = given;
  if (output === undefined) {
    throw new UsageError("option_missing", "troupe export needs -o FILE: where to write");
  }
  const keepsPaths = given["keep-paths"];
  if (keepsPaths && !given.fixture) {
    throw new UsageError(
      "option_invalid",
      "--keep-paths goes with --fixture: other exports keep paths anyway",
    );
  }
  const location = await locateStore(cli, given.store);
  const host = await openReading(cli, location);
  try {
    const root = await findSession(host, args[0] ?? "");
    if (given.fixture) {
      const { json } = given;
      return await exportFixture(cli, {
        records: host,
        root,
        location,
        path: output,
        force,
        keepsPaths,
        json,
      });
    }
    const counts = await withProgress(cli, `writing ${root.address}`, (tell) => {
      const request = {
        records: host,
        root,
        digest: cli.seams.digest,
        onProgress: (n: number) => tell(`${n} entries`),
      };
      return output === "-" ? writeOut(cli, request) : writeFile(cli, request, { path: output, force });
    });
    const words = wordsOf(counts, root.address);
    const { out, err } = cli.terminal;
    if (output === "-") err.line(`Wrote ${words}`);
    else if (given.json) out.line(jsonLine({ file: output, address: root.address, ...counts }));
    else out.line(`Wrote ${words} to ${output}`);
    return exitCodes.ok;
  } finally {
    await host.close();
  }
}

function wordsOf({ entries, blobs, results, leftOut }: ExportCounts, address: string): string {
  const catalogs = blobs - results;
  const kept = results === 0 ? "" : `, with ${results} whole result${results === 1 ? "" : "s"}`;
  const left = leftOut === 0 ? "" : `, without ${leftOut} that are too large for it and stay in the store`;
  return `${entries} entries and ${catalogs} catalog${catalogs === 1 ? "" : "s"} of ${address}${kept}${left}`;
}

type Source = Omit<ExportRequest, "write">;

async function writeOut(cli: Cli, source: Source): Promise<ExportCounts> {
  return await writeExport({
    ...source,
    write: (text) => {
      cli.terminal.out.write(text);
      return Promise.resolve();
    },
  });
}

/** Written beside its place and moved there at the end, so that nobody finds half of it. */
function writeFile(cli: Cli, source: Source, place: NewFile): Promise<ExportCounts> {
  return writeNewFile(cli, place, (write) => writeExport({ ...source, write }));
}
