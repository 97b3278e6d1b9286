/** `troupe export --fixture`: a session as a folder for a repository. */
import type { RootRecord } from "../../schemas/entry.ts";
import { composeFixture } from "../fixture/compose_fixture.ts";
import type { Place } from "../fixture/hide_places.ts";
import { refuseFull, writeFixture } from "../fixture/write_fixture.ts";
import type { Records } from "../host/host.ts";
import type { Cli } from "./cli.ts";
import { exitCodes, UsageError } from "./exit.ts";
import { jsonLine } from "./json_line.ts";
import { withProgress } from "./progress.ts";
import { safeText } from "./terminal.ts";

/** What is to be written, and where to. */
export interface FixtureOrder {
  readonly records: Records;
  readonly root: RootRecord;
  /** Where the store is: its folder is hidden too. */
  readonly location: string;
  readonly path: string;
  readonly force: boolean;
  readonly keepsPaths: boolean;
  readonly json: boolean;
}

/** Writes a fixture and says what is in it. */
export async function exportFixture(cli: Cli, order: FixtureOrder): Promise<0> {
  const { records, root, path, force, keepsPaths } = order;
  if (path === "-") {
    throw new UsageError("option_invalid", "A fixture is a folder: name it with -o DIR");
  }
  if (root.kind !== "session") {
    throw new UsageError("option_invalid", `A fixture is made of a session, and "${root.address}" is none`);
  }
  await refuseFull({ path, force });
  const composed = await withProgress(cli, `replaying ${root.address}`, (tell) =>
    composeFixture({
      records,
      session: root.address,
      digest: cli.seams.digest,
      places: ownPlaces(cli, order.location),
      keepsPaths,
      onProgress: tell,
    }));
  await writeFixture(composed, { path, force });
  const { manifest, files } = composed;
  const entries = manifest.roots.reduce((sum, one) => sum + one.entries, 0);
  const bytes = [...files.values()].reduce((sum, text) => sum + new TextEncoder().encode(text).length, 0);
  const [roots, blobs] = [manifest.roots.length, manifest.blobs.length];
  const { out, err } = cli.terminal;
  if (order.json) {
    const { placeholders } = manifest;
    out.line(jsonLine({ fixture: path, address: root.address, entries, roots, blobs, bytes, placeholders }));
  } else {
    const shelf = blobs === 1 ? "1 catalog" : `${blobs} catalogs and offers`;
    const what = `${entries} entries of ${roots} streams and ${shelf}`;
    out.line(safeText(`Wrote a fixture of ${root.address} to ${path}: ${what}, ${bytes} bytes`));
  }
  const hidden = manifest.placeholders.join(", ");
  if (hidden !== "") err.line(`Folders of this machine are written as ${hidden}`);
  err.line("It holds the whole conversation: look through it before it is shared");
  return exitCodes.ok;
}

/** The user's folder and the store's: results and messages may name them. */
function ownPlaces({ env, cwd }: Cli, location: string): readonly Place[] {
  const home = env("HOME") ?? env("USERPROFILE");
  const absolute = location.startsWith("/") ? location : `${cwd}/${location}`;
  const folder = absolute.slice(0, absolute.lastIndexOf("/"));
  return [
    ...(home === undefined ? [] : [{ path: home, placeholder: "/home/user" }]),
    { path: folder, placeholder: "/store" },
  ];
}
