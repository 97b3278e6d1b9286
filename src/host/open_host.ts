/** Opens a store as its owner: lock, store, runtime, door, in this order; closes them in the opposite one. */
import type { HostConfig } from "../../schemas/config.ts";
import { type Door, openDoor } from "../door/server.ts";
import { openKvStore } from "../journal/kv_store.ts";
import { lockStore, type StoreLock } from "../journal/store_lock.ts";
import { type Runtime, startRuntime } from "../runtime.ts";
import type { Seams } from "../seams.ts";
import { Answerers } from "./answerers.ts";
import type { ActingHost } from "./host.ts";
import { createHostPerformers } from "./host_performers.ts";
import { createLocalHost } from "./local_host.ts";

/** Options of {@linkcode openOwner}. */
export interface OwnerOptions {
  readonly location: string;
  readonly config: HostConfig;
  readonly seams: Seams;
  /** Everything waits for the disk (K9), whatever the configuration says. */
  readonly strict?: boolean;
  /** True if a person, or an order given for one, answers questions: those that a restart finds open then stay open. */
  readonly isAttended: boolean;
}

/** Takes a store for this process and runs it. Refuses with `store_in_use` if another process holds it. */
export async function openOwner(options: OwnerOptions): Promise<ActingHost> {
  const { location, config, seams } = options;
  const lock = await lockStore(location, seams.clock);
  try {
    const answerers = new Answerers();
    const store = await openKvStore(location, { log: seams.log });
    const runtime = await startRuntime({
      store,
      seams,
      performers: createHostPerformers,
      strict: (options.strict ?? false) || config.durability === "strict",
      hasAnswerer: () => options.isAttended || answerers.areThere,
    }).catch((error) => {
      store.close();
      throw error;
    });
    answerers.denyUnheard(runtime.questions);
    return await openWithDoor({ lock, runtime, answerers, config, seams });
  } catch (error) {
    await lock.release();
    throw error;
  }
}

interface Opened {
  readonly lock: StoreLock;
  readonly runtime: Runtime;
  readonly answerers: Answerers;
  readonly config: HostConfig;
  readonly seams: Seams;
}

async function openWithDoor({ lock, runtime, answerers, config, seams }: Opened): Promise<ActingHost> {
  const doors: Door[] = [];
  const host = createLocalHost({
    runtime,
    config,
    answerers,
    release: async ({ hurry = false, onWait }) => {
      for (const door of doors) {
        if (!hurry && door.isBusy) onWait?.();
        if (!hurry) await door.idle();
        await door.close({ hurry });
      }
      await runtime.stop();
      await lock.release();
    },
  });
  try {
    const door = await openDoor({ host, seams });
    doors.push(door);
    await lock.setDoor({ port: door.port, token: door.token });
    return host;
  } catch (error) {
    for (const door of doors) await door.close();
    await runtime.stop();
    throw error;
  }
}
