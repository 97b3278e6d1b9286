/** Where a recorded session is read from: a store, an export, or a fixture. */
import type { Entry } from "../../schemas/entry.ts";
import { type RootAddress, rootKindOf } from "../../schemas/ids.ts";
import type { Json } from "../../schemas/json.ts";
import { readJson } from "../border.ts";
import { readFixture } from "../fixture/read_fixture.ts";
import { pagesOf } from "../stream_replay.ts";
import type { Cli } from "./cli.ts";
import { UsageError } from "./exit.ts";
import { exportLineBounds } from "../export/export_format.ts";
import { readExport } from "../export/export_read.ts";
import { locateStore, openReading } from "./host.ts";
import { findSession } from "./session_name.ts";

/** A recorded session, for one use. */
export interface RunSource {
  readonly address: RootAddress;
  readonly pages: AsyncIterable<readonly Entry[]>;
  /** Another stream of the same session; undefined if it is not kept there. */
  readonly pagesOf: (root: RootAddress) => AsyncIterable<readonly Entry[]> | undefined;
  /** What a hash in its entries stands for; undefined if it is not there. */
  readonly valueOf: (hash: string) => Promise<Json | undefined>;
  readonly close: () => Promise<void>;
}

/** Ids and addresses of sessions have no dot, and only addresses have a slash. */
export function isFile(name: string): boolean {
  if (name.includes(".") || name.startsWith("/")) return true;
  return name.includes("/") && rootKindOf(name) === undefined;
}

/** Opens what a person names: a session, or, with a dot or a slash, an export or the folder of a fixture. */
export async function openRun(cli: Cli, name: string, store: string | undefined): Promise<RunSource> {
  if (!isFile(name)) return await openStored(cli, name, store);
  return await isFolder(name) ? await openFixture(cli, name) : await openExport(cli, name);
}

async function openStored(cli: Cli, name: string, store: string | undefined): Promise<RunSource> {
  const host = await openReading(cli, await locateStore(cli, store));
  try {
    const { address } = await findSession(host, name);
    return {
      address,
      pages: host.readPages(address),
      pagesOf: (root) => host.readPages(root),
      valueOf: async (hash) => jsonOf(await host.readBlob(hash)),
      close: () => host.close(),
    };
  } catch (error) {
    await host.close();
    throw error;
  }
}

async function openFixture(cli: Cli, name: string): Promise<RunSource> {
  const { roots, blobs } = await readFixture(name.replace(/(?<=.)\/+$/, ""), cli.seams.digest);
  const [session] = roots;
  if (session === undefined) throw new Error(`Cannot read "${name}": a fixture has a session`);
  const texts = new Map(blobs.map(({ hash, text }) => [hash, text]));
  const streams = new Map(roots.map(({ root, entries }) => [root.address, entries]));
  return inMemory(session.root.address, streams, (hash) => texts.get(hash));
}

async function openExport(cli: Cli, name: string): Promise<RunSource> {
  using file = await openFile(name);
  const { header, entries, blobs } = await readExport(chunksOf(file), name, cli.seams.digest);
  return inMemory(header.address, new Map([[header.address, entries]]), (hash) => {
    const bytes = blobs.get(hash);
    return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
  });
}

function inMemory(
  address: RootAddress,
  streams: ReadonlyMap<RootAddress, readonly Entry[]>,
  textOf: (hash: string) => string | undefined,
): RunSource {
  return {
    address,
    pages: pagesOf(streams.get(address) ?? []),
    pagesOf: (root) => {
      const entries = streams.get(root);
      return entries === undefined ? undefined : pagesOf(entries);
    },
    valueOf: (hash) => {
      const text = textOf(hash);
      return Promise.resolve(text === undefined ? undefined : readJson(text, exportLineBounds));
    },
    close: () => Promise.resolve(),
  };
}

function jsonOf(bytes: Uint8Array): Json {
  return readJson(new TextDecoder().decode(bytes), exportLineBounds);
}

/** True for the folder of a fixture. */
export async function isFolder(name: string): Promise<boolean> {
  return await Deno.stat(name).then((found) => found.isDirectory, () => false);
}

/** Opens an export. Refuses what is not there. */
export async function openFile(name: string): Promise<Deno.FsFile> {
  try {
    return await Deno.open(name, { read: true });
  } catch (error) {
    const why = error instanceof Deno.errors.NotFound ? "there is no such file" : "it cannot be read";
    throw new UsageError("file_not_found", `Cannot read "${name}": ${why}`);
  }
}

/** The bytes of a file, piece by piece. */
export async function* chunksOf(file: Deno.FsFile): AsyncIterable<Uint8Array> {
  const buffer = new Uint8Array(65_536);
  for (let count = await file.read(buffer); count !== null; count = await file.read(buffer)) {
    yield buffer.slice(0, count);
  }
}
