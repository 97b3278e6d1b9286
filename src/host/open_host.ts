/** Opens a store as its owner: lock, processes, store, runtime, door, in this order; closes them in the opposite one. */
import { sessionsAbove } from "../ancestors.ts";
import type { ActorApi } from "../api/actor_api.ts";
import type { AgentShelf } from "../api/agent_shelf.ts";
import { Upkeep } from "../api/upkeep.ts";
import { ArtifactFolder } from "../commands/artifacts.ts";
import type { HostConfig } from "../../schemas/config.ts";
import { type Door, openDoor } from "../door/server.ts";
import { openKvStore } from "../journal/kv_store.ts";
import type { Store } from "../journal/store.ts";
import type { PermissionMode } from "../../schemas/mode.ts";
import { hostAuthored } from "./authored_tools.ts";
import { hostConnections } from "./host_connections.ts";
import { tokenVariable } from "../journal/remote_address.ts";
import type { Sharing } from "../journal/root_ownership.ts";
import type { StoreLock } from "../journal/store_lock.ts";
import type { JailPool } from "../jail/jail_pool.ts";
import type { OwnProgram } from "../mcp/connections.ts";
import { PrivateHomes } from "../mcp/private_homes.ts";
import { ServerLog } from "../mcp/server_log.ts";
import { GuardedClient } from "../net/guarded_client.ts";
import { UrlPolicy } from "../net/url_policy.ts";
import { ProcessRegistry } from "../processes/registry.ts";
import { ProgramDesk } from "../programs/program_desk.ts";
import { type Runtime, startRuntime } from "../runtime.ts";
import type { HostPerformers, HostServices } from "../host_services.ts";
import type { Seams } from "../seams.ts";
import { TaskLogs } from "../tasks/task_log.ts";
import { Answerers } from "./answerers.ts";
import { createHostPerformers, type HostCommands } from "./host_performers.ts";
import { createDoorRedactor, type DoorOptions } from "../effects/clean.ts";
import type { KnownSecrets } from "../redact/known_secrets.ts";
import { HostModels, openDirectory } from "./host_models.ts";
import { createLocalHost, type LocalHost } from "./local_host.ts";
import { makeKnown } from "./known.ts";
import { readSecrets } from "./secrets.ts";
import { Declarer } from "./declarer.ts";
import { part } from "./farewell.ts";
import { readFingerprintKey } from "./fingerprint_key.ts";
import type { Env } from "./home.ts";
import { pinFolder, PinStore } from "./pins.ts";
import { takePlace } from "./store_place.ts";
import { trustFile } from "./trust.ts";

/** Options of {@linkcode openOwner}. */
export interface OwnerOptions {
  readonly location: string;
  readonly config: HostConfig;
  readonly seams: Seams;
  readonly env: Env;
  /** How this program is started once more: what `troupe` means in a manifest. */
  readonly self: OwnProgram;
  /** Everything waits for the disk (K9), whatever the configuration says. */
  readonly strict?: boolean;
  /** True if a person, or an order given for one, answers questions: those that a restart finds open then stay open. */
  readonly isAttended: boolean;
  /** True if this process goes on when its command has ended: then tasks may be detached. Default false. */
  readonly goesOn?: boolean;
  /** True: no schedule becomes due. */
  readonly holdsSchedules?: boolean;
  /** Age at which a lease in a shared store is over, in milliseconds. Default 30 s. */
  readonly leaseMs?: number;
  /** Goes around what reaches the disk and the world, for who looks at what passes. By default nothing does. */
  readonly around?: {
    readonly store: (store: Store) => Store;
    readonly performers: (performers: HostPerformers) => HostPerformers;
  };
}

/** The host of the process that owns its store: besides what every host does, it can offer its API to programs. */
export interface OwnerHost extends LocalHost {
  /** Path beside which this process keeps what is no part of the store. */
  readonly beside: string;
  /** The actor API over this store. `mode` is the freest one that a session may be begun in. */
  openApi(offer: { readonly shelf: AgentShelf; readonly mode: PermissionMode }): Promise<ActorApi>;
}

/** Takes a store, or joins it if it is remote, and runs it. Refuses with `store_in_use` if another process holds it. */
export async function openOwner(given: OwnerOptions): Promise<OwnerHost> {
  const { config, seams, env } = given;
  const { lock, beside: location, isShared } = await takePlace(given.location, given);
  const options = { ...given, location };
  const { clock, digest, log } = seams;
  const homes = new PrivateHomes(location);
  const registry = new ProcessRegistry({ store: location, runId: seams.nextId("run"), clock, digest, log });
  try {
    // What a killed runtime left behind must be gone before anything is started again (CM-119).
    await registry.sweep();
    const answerers = new Answerers();
    const secrets = await readSecrets(config.secrets, env);
    const keys = await readSecrets(config.api.jwt === undefined ? {} : { api_jwt: config.api.jwt.key }, env);
    const known = makeKnown([...secrets, ...keys], { log, token: isShared ? env(tokenVariable) : undefined });
    const valueOf = new Map(secrets.map(({ name, value }) => [name, value]));
    const http = new GuardedClient({ policy: new UrlPolicy(config.network), clock });
    const models = new HostModels({ directory: await openDirectory(config, env), known, clock, log });
    const readSecret = (name: string) => valueOf.has(name) ? valueOf.get(name) : env(name);
    const logs = new TaskLogs();
    const commands = commandsOf({ ...options, registry, homes, valueOf, known, logs });
    const redactor = createDoorRedactor(known, await doorOptions(location, seams));
    const serverLog = await ServerLog.beside({ store: location, redactor, clock, log });
    const connections = hostConnections({ ...options, registry, homes, known, readSecret, serverLog, http });
    const history = config.session_search.scope;
    const authored = hostAuthored({ ...given, registry, valueOf, known });
    const made: { services: HostServices | undefined } = { services: undefined };
    const opened = await openKvStore(given.location, { log });
    const store = options.around?.store(opened) ?? opened;
    const runtime = await startRuntime({
      store,
      seams,
      performers: (services) => {
        made.services = services;
        const reach = { connections, commands, http, authored, models, pins: pinsOf(env), history };
        const performers = createHostPerformers(services, reach);
        return options.around?.performers(performers) ?? performers;
      },
      redactor,
      ...isShared ? { sharing: sharingOf(given) } : {},
      holdsSchedules: options.holdsSchedules ?? false,
      strict: (options.strict ?? false) || config.durability === "strict",
      hasAnswerer: () => options.isAttended || answerers.areThere,
    }).catch((error) => {
      store.close();
      throw error;
    });
    answerers.denyUnheard(runtime.questions, (root) => sessionsAbove(runtime.kernel.records, root));
    const declarer = declarerOf(options, new Set(valueOf.keys()), () => authored.pool.warm());
    const farewell = () => made.services === undefined ? Promise.resolve() : part(connections, made.services);
    const jails = authored.pool;
    const own = { registry, homes, http, models, farewell, logs, declarer, answerers, jails };
    return await openWithDoor({ lock, beside: location, isShared, runtime, config, seams, ...own });
  } catch (error) {
    registry.killAll();
    await lock.release();
    throw error;
  }
}

/** How this process is known to those who find a session held by it. */
function sharingOf({ leaseMs }: OwnerOptions): Sharing {
  const holder = `process ${Deno.pid} on ${Deno.hostname()}`;
  return leaseMs === undefined ? { holder } : { holder, leaseMs };
}

/** The pins of an operator's tools, for all stores. */
function pinsOf(env: Parameters<typeof trustFile>[0]): PinStore {
  return new PinStore(pinFolder(trustFile(env)));
}

function declarerOf(
  { config, seams, env }: OwnerOptions,
  secrets: ReadonlySet<string>,
  onAuthored: () => void,
): Declarer {
  const { policy, server_paths: serverPaths } = config;
  return new Declarer({
    policy,
    digest: seams.digest,
    secrets,
    serverPaths,
    trustFile: trustFile(env),
    onAuthored,
  });
}

/** What commands are given: where they are started, are at home, and leave their output; variables and secrets. */
function commandsOf(
  given: OwnerOptions & Pick<HostCommands, "logs"> & {
    readonly registry: ProcessRegistry;
    readonly homes: PrivateHomes;
    readonly valueOf: ReadonlyMap<string, string | undefined>;
    readonly known: KnownSecrets;
  },
): HostCommands {
  const { location, config, seams: { digest }, env, registry, homes, valueOf, known, goesOn = false, logs } =
    given;
  return {
    registry,
    logs,
    openArtifacts: new ArtifactFolder(location, digest).open,
    homeOf: async (root) => homes.commandHome(await digest(new TextEncoder().encode(root))),
    environment: config.commands.environment,
    goesOn,
    readVariable: env,
    ownersHome: env("HOME") ?? env("USERPROFILE") ?? "/",
    readSecret: (name) => valueOf.get(name),
    onBound: (value, name) => void known.add({ value, name, source: "bound" }),
  };
}

/** The store's own key for fingerprints, and the time. Without a key there are no fingerprints, and all else goes on. */
async function doorOptions(location: string, { clock, log }: Seams): Promise<DoorOptions> {
  const now = () => clock.now();
  const key = await readFingerprintKey(location);
  if (typeof key !== "string") return { hmacKey: key, now };
  log({ level: "warning", event: "fingerprint_key_unusable", detail: { why: key } });
  return { now };
}

interface Opened {
  readonly lock: StoreLock;
  readonly beside: string;
  readonly isShared: boolean;
  readonly runtime: Runtime;
  readonly answerers: Answerers;
  readonly config: HostConfig;
  readonly seams: Seams;
  readonly declarer: Declarer;
  readonly registry: ProcessRegistry;
  readonly homes: PrivateHomes;
  readonly http: GuardedClient;
  readonly models: HostModels;
  readonly farewell: () => Promise<void>;
  readonly logs: TaskLogs;
  readonly jails: JailPool;
}

async function openWithDoor(opened: Opened): Promise<OwnerHost> {
  const { lock, runtime, answerers, config, seams, declarer, registry, homes, http, farewell, logs, jails } =
    opened;
  const doors: Door[] = [];
  const programs = new ProgramDesk({ runtime, seams, config });
  const onEnd = (connection: string) => programs.endConnection(connection);
  const upkeep = new Upkeep({ runtime, seams, isShared: opened.isShared, onEnd });
  const host = createLocalHost({
    runtime,
    config,
    answerers,
    declarer,
    logs,
    release: async ({ hurry = false, onWait }) => {
      for (const door of doors) {
        if (!hurry && door.isBusy) onWait?.();
        if (!hurry) await door.idle();
        await door.close({ hurry });
      }
      upkeep.stop();
      if (hurry) registry.killAll();
      else await Promise.all([farewell(), registry.endCommands()]);
      await runtime.stop();
      programs.stop();
      http.close();
      await jails.close();
      opened.models.close();
      await registry.closeAll();
      await homes.release();
      await lock.release();
    },
  });
  try {
    await Promise.all([upkeep.begin(), programs.begin()]);
    // Who shares a store is on any machine, and the door is on loopback.
    if (!opened.isShared) {
      const door = await openDoor({ host, seams });
      doors.push(door);
      await lock.setDoor({ port: door.port, token: door.token });
    }
    return {
      ...host,
      beside: opened.beside,
      openApi: async (offer) => {
        // Loaded here: most commands need none of it.
        const { ActorApi } = await import("../api/actor_api.ts");
        return new ActorApi({
          runtime,
          host,
          seams,
          config,
          declarer,
          fates: upkeep.fates,
          programs,
          ...offer,
        });
      },
    };
  } catch (error) {
    upkeep.stop();
    for (const door of doors) await door.close();
    await runtime.stop();
    programs.stop();
    await registry.closeAll();
    await homes.release();
    throw error;
  }
}
