/** Makes the kernel's state from its parts. */
import { type StateFormats, stateFormats } from "../../actors/migrate.ts";
import type { RootRecord } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { messageTypes } from "../../schemas/message.ts";
import { CrankDesk } from "./desk.ts";
import type { Kernel } from "./kernel.ts";
import { machinesOf, type Wiring } from "./machines.ts";
import { Waking } from "./waking.ts";

/** What a kernel is made from. */
export type KernelParts =
  & Pick<
    Kernel,
    "seams" | "journal" | "code" | "strict" | "performers" | "observer" | "loadShelved" | "pick"
  >
  & {
    /** The forms of stored states; tests of upgrades give others. */
    readonly stateFormats?: StateFormats | undefined;
    /** Wires the machines; tests of faults give machines that fail. */
    readonly wire?: Wiring | undefined;
  };

/** Makes a kernel at rest: nothing runs before {@linkcode recover} has looked at the store. */
export function createKernel(parts: KernelParts): Kernel {
  const { wire, stateFormats: formats = stateFormats, ...rest } = parts;
  return {
    ...rest,
    stateFormats: formats,
    messageTypes: wire === undefined ? messageTypes : undefined,
    desk: new CrankDesk(),
    machines: machinesOf(wire),
    roots: new Map(),
    records: new Map<RootAddress, RootRecord>(),
    parked: new Map(),
    waking: new Waking(),
    recovered: new Set(),
    running: new Map(),
    earlyCalls: new Set(),
    claimed: new Set(),
    looks: { count: 0, spent: new Set() },
    bringing: new Map(),
    avoided: new Set(),
    replyWaiters: new Map(),
    births: new Map(),
    pendingCommands: new Map(),
    lookUps: new Map(),
    watchers: new Set(),
    ready: [],
    reasks: { active: 0, waiting: [] },
    supervisor: undefined,
    pumping: false,
    paused: true,
    stopped: undefined,
    ending: new AbortController(),
  };
}
