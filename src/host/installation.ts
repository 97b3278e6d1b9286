/** Whether troupe can work here: the program, its rights, the store's place, the disk and the clock. Changes nothing. */
import { access, constants } from "node:fs/promises";
import { doctorBounds } from "../../schemas/doctor_limits.ts";
import { openKvStore } from "../journal/kv_store.ts";
import { isAddress } from "../journal/remote_address.ts";
import { refuseNetworkFolder } from "../journal/store_file.ts";
import type { Clock } from "../seams.ts";
import { version } from "../version.ts";
import { freeBytesOf } from "./store_surroundings.ts";

/** One thing that was looked at. */
export interface Check {
  readonly check: string;
  readonly isWell: boolean;
  /** What was seen and, if it is not well, what to do. */
  readonly message: string;
}

/** What is looked at. */
export interface InstallationOrder {
  /** Where the store is, or will be. */
  readonly location: string;
  /** The host's configuration; undefined if there is no file. */
  readonly configFile: string | undefined;
  readonly clock: Clock;
}

/** Looks at everything. Throws nothing: what goes wrong is what it tells. */
export async function checkInstallation(order: InstallationOrder): Promise<readonly Check[]> {
  const { location, configFile, clock } = order;
  const config = configFile === undefined ? "no troupe.yaml: the defaults are in force" : configFile;
  const missing = await missingRights();
  const first = [checkProgram(Deno.version.deno), await checkRights(missing)];
  // Without its rights nothing more can be tried.
  if (missing.length > 0) return first;
  return [
    ...first,
    await checkKv(),
    { check: "configuration", isWell: true, message: config },
    ...isAddress(location) ? [] : await checkPlace(location),
    await checkClock(clock.now(), [Deno.execPath(), location]),
  ];
}

/** Oldest Deno that has all that is needed: before it, sockets of its HTTP server cannot be paused. */
const denoVersionMin = [2, 9] as const;

/** Whether the Deno that runs it is new enough. A binary has its own, which was chosen when it was made. */
export function checkProgram(deno: string, isStandalone: boolean = Deno.build.standalone): Check {
  const [major = 0, minor = 0] = deno.split(".").map(Number);
  const [majorMin, minorMin] = denoVersionMin;
  const isWell = isStandalone || major > majorMin || (major === majorMin && minor >= minorMin);
  const form = isStandalone ? "a program of its own" : "from source";
  const advice = isWell ? "" : `; it needs ${majorMin}.${minorMin} or newer: deno upgrade`;
  return { check: "program", isWell, message: `troupe ${version} on Deno ${deno}, ${form}${advice}` };
}

const rights = ["read", "write", "net", "env", "run", "sys"] as const;

async function missingRights(): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const name of rights) {
    if ((await Deno.permissions.query({ name })).state !== "granted") missing.push(name);
  }
  return missing;
}

async function checkRights(missing: readonly string[]): Promise<Check> {
  if (missing.length > 0) {
    const message = `without the right to ${missing.join(", ")}: start it with -A`;
    return { check: "permissions", isWell: false, message };
  }
  if (Deno.build.os !== "linux") return { check: "permissions", isWell: true, message: "all that it needs" };
  try {
    await Deno.stat("/proc/self/environ");
    return { check: "permissions", isWell: true, message: "all that it needs; it sees processes" };
  } catch (error) {
    const why = error instanceof Deno.errors.NotCapable
      ? "Deno shows /proc with all rights only: start it with -A"
      : "there is no /proc: mount it";
    const message = `it cannot find processes that a killed run left behind: ${why}`;
    return { check: "permissions", isWell: false, message };
  }
}

async function checkKv(): Promise<Check> {
  try {
    const store = await openKvStore(":memory:");
    try {
      await store.commit({ checks: [], sets: [{ key: ["doctor"], value: "well" }], deletes: [] });
      const isWell = (await store.get(["doctor"]))?.value === "well";
      return { check: "kv", isWell, message: isWell ? "writes and reads" : "does not read what it wrote" };
    } finally {
      store.close();
    }
  } catch (error) {
    const advice = "openKv" in Deno ? "" : "; start it with --unstable-kv";
    return { check: "kv", isWell: false, message: `Deno KV does not open: ${textOf(error)}${advice}` };
  }
}

/** The folder of the store: it is there, or can be made, can be written, and lies on a disk of this machine with space. */
async function checkPlace(location: string): Promise<readonly Check[]> {
  const cut = Math.max(location.lastIndexOf("/"), location.lastIndexOf("\\"));
  const folder = cut < 0 ? "." : location.slice(0, cut) || "/";
  const nearest = await nearestFolder(folder);
  const bytes = await freeBytesOf(nearest);
  const isRoomy = bytes === null || bytes >= doctorBounds.diskFreeBytesLow;
  const free = bytes === null
    ? "the system does not say what is free"
    : `${Math.floor(bytes / 1_048_576)} MiB free`;
  return [
    await checkFolder(folder, nearest),
    { check: "disk", isWell: isRoomy, message: isRoomy ? free : `${free}: free some space` },
  ];
}

async function checkFolder(folder: string, nearest: string): Promise<Check> {
  const check = "store folder";
  try {
    await access(nearest, constants.W_OK);
    await refuseNetworkFolder(await Deno.realPath(nearest));
    const later = nearest === folder ? "" : "; the first run makes it";
    return { check, isWell: true, message: `${folder} can be written${later}` };
  } catch (error) {
    const isRefused = (error as { readonly code?: unknown }).code === "EACCES";
    const why = isRefused ? `${nearest} cannot be written: correct its mode` : textOf(error);
    return { check, isWell: false, message: `${why}, or name another store with --store` };
  }
}

/** The folder itself, or the nearest one above that is there. */
async function nearestFolder(folder: string): Promise<string> {
  for (let at = folder;;) {
    if (await isFolder(at)) return at;
    const cut = at.lastIndexOf("/");
    if (cut < 0) return ".";
    if (cut === 0) return "/";
    at = at.slice(0, cut);
  }
}

async function isFolder(path: string): Promise<boolean> {
  return (await Deno.stat(path).catch(() => undefined))?.isDirectory === true;
}

/** How far files may be ahead of the clock: disks and machines never agree to the second. */
const aheadMsMax = 300_000;

/** Whether the clock is behind what was written already: due times and approvals would be judged wrongly. */
export async function checkClock(nowMs: number, files: readonly string[]): Promise<Check> {
  const now = new Date(nowMs).toISOString();
  for (const file of files) {
    const at = (await Deno.stat(file).catch(() => undefined))?.mtime;
    if (at === undefined || at === null || at.getTime() <= nowMs + aheadMsMax) continue;
    const message = `it says ${now}, and ${file} was written at ${at.toISOString()}: set the clock`;
    return { check: "clock", isWell: false, message };
  }
  return { check: "clock", isWell: true, message: now };
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
