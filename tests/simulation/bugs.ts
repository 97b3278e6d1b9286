/** Planted bugs: each breaks one rule from outside, so that the simulation can be seen to find it. */
import type { WiredMachines } from "../../actors/wiring.ts";
import type { Store } from "../../src/journal/store.ts";
import type { CrankDesk } from "../../src/kernel/desk.ts";
import type { HostPerformers, Runtime } from "../../src/runtime.ts";
import type { MemoryStore } from "../support/memory_store.ts";

/** Where a bug sits: between runtime and disk, in the performers, in the machines' desk, in the running kernel. */
export interface Bug {
  readonly store?: (store: MemoryStore) => Store;
  readonly performers?: (performers: HostPerformers) => HostPerformers;
  readonly wire?: (desk: CrankDesk) => WiredMachines;
  readonly onStart?: (runtime: Runtime) => void;
}
