/** What a planted bug is: where it sits, the rule that it breaks, and by which judges it must be seen. */
import type { WiredMachines } from "../../actors/wiring.ts";
import type { HostPerformers } from "../../src/host_services.ts";
import type { Store } from "../../src/journal/store.ts";
import type { PortDesk } from "../../src/kernel/machines.ts";
import type { Redactor } from "../../src/redact/redactor.ts";
import type { Runtime } from "../../src/runtime.ts";
import type { MemoryStore } from "../support/memory_store.ts";
import type { Plan } from "./plan.ts";

/** Where a bug sits: between runtime and disk, in the performers, in the machines, at the door, in the running kernel. */
export interface Bug {
  readonly store?: (store: MemoryStore) => Store;
  readonly performers?: (performers: HostPerformers) => HostPerformers;
  readonly wire?: (desk: PortDesk) => WiredMachines;
  readonly redactor?: () => Redactor;
  readonly onStart?: (runtime: Runtime) => void;
}

/** A bug, the rule that it breaks, and the judges of which at least one must see that. */
export interface Canary {
  readonly name: string;
  readonly of: string;
  readonly bug: Bug;
  readonly rules: readonly string[];
  /** Where the hunt begins: the first seed from 1 that shows the bug, where that takes longer than a few. */
  readonly from?: number;
  /** Brings forth what the bug needs to show. */
  readonly plan?: (plan: Plan) => Plan;
}
