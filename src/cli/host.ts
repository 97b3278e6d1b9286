/** Opens the store that a command means: here if it is free, else through the door of the process that holds it. */
import type { HostConfig } from "../../schemas/config.ts";
import { connectDoor } from "../door/client.ts";
import { DoorError, doorVersion } from "../door/protocol.ts";
import { createRemoteHost } from "../door/remote_host.ts";
import type { ActingHost, Host } from "../host/host.ts";
import { readHostSettings, storeLocation } from "../host/home.ts";
import { openReaderHost, refuseMissing } from "../host/reader_host.ts";
import { isAddress } from "../journal/remote_address.ts";
import { StoreError } from "../journal/store.ts";
import { lockStore, readStoreOwner, type StoreLock } from "../journal/store_lock.ts";
import type { Cli } from "./cli.ts";
import { withProgress } from "./progress.ts";

/** A holder that only reads is gone in a moment, and an owner opens its door soon: this long both are waited for. */
const patienceMs = 2_000;
const pauseMs = 50;
const pingDurationMs = 2_000;

/** How a store is opened for acting. */
export interface ActingOptions {
  readonly location: string;
  readonly config: HostConfig;
  readonly strict: boolean;
  /** True if questions are answered: by a person at the terminal, or by an order given for one. */
  readonly isAttended: boolean;
  /** True: if the store is opened here, no schedule becomes due. */
  readonly holdsSchedules?: boolean;
}

/** Where the store of a command is. */
export async function locateStore(cli: Cli, asked: string | undefined): Promise<string> {
  return storeLocation(asked, cli.env, await readHostSettings(cli.env));
}

/** Opens a store for reading. */
export async function openReading(cli: Cli, location: string): Promise<Host> {
  await refuseMissing(location);
  return await open(cli, location, () => openReaderHost(location, cli.seams));
}

/** Opens a store for acting. Makes it if it does not exist. */
export async function openActing(cli: Cli, options: ActingOptions): Promise<ActingHost> {
  return await open(cli, options.location, async () => {
    const { openOwner } = await import("../host/open_host.ts");
    return await openOwner({ ...options, seams: cli.seams, env: cli.env, self: cli.self });
  });
}

/** The living owner of a store, for commands that make sense only then. Refuses if there is none. */
export async function openOwnersDoor(cli: Cli, location: string): Promise<ActingHost> {
  if (isAddress(location)) {
    throw new DoorError(
      "owner_missing",
      `No door leads to "${location}": sessions of a remote store are told things by the process that runs them`,
    );
  }
  await refuseMissing(location);
  const host = await knock(cli, location);
  if (host !== undefined) return host;
  throw new DoorError(
    "owner_missing",
    `No process runs the store "${location}": its sessions take nothing until troupe run opens it again`,
  );
}

/** Takes the lock of a store for work that nobody else can do at the same time. */
export async function lockPatiently(cli: Cli, location: string): Promise<StoreLock> {
  return await patiently(cli, () => lockStore(location, cli.seams.clock), () => Promise.resolve(undefined));
}

async function open<T extends Host>(
  cli: Cli,
  location: string,
  openHere: () => Promise<T>,
): Promise<T | ActingHost> {
  return await withProgress(
    cli,
    "opening the store",
    () => patiently<T | ActingHost>(cli, openHere, () => knock(cli, location)),
  );
}

/** Tries until the store is free, somebody else serves us, or patience ends. */
async function patiently<T>(
  { seams: { clock } }: Cli,
  openHere: () => Promise<T>,
  openElsewhere: () => Promise<T | undefined>,
): Promise<T> {
  for (const giveUpAt = clock.now() + patienceMs;;) {
    try {
      return await openHere();
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== "store_in_use") throw error;
      const elsewhere = await openElsewhere();
      if (elsewhere !== undefined) return elsewhere;
      if (clock.now() >= giveUpAt) throw error;
    }
    await clock.sleepUntil(clock.now() + pauseMs);
  }
}

/** The host behind the door of a store's owner; undefined if nobody answers there. */
async function knock(cli: Cli, location: string): Promise<ActingHost | undefined> {
  const owner = isAddress(location) ? undefined : await readStoreOwner(location);
  if (owner?.door === undefined) return undefined;
  const { clock } = cli.seams;
  const stop = new AbortController();
  const late = clock.sleepUntil(clock.now() + pingDurationMs, stop.signal).then(() => undefined);
  try {
    const client = await connectDoor(owner.door);
    const pong = await Promise.race([client.call("ping", {}), late]).catch(() => undefined);
    if (pong?.v === doorVersion) return createRemoteHost(client, pong.pid);
    await client.close();
  } catch (error) {
    if (!(error instanceof DoorError)) throw error;
  } finally {
    stop.abort();
  }
  return undefined;
}
