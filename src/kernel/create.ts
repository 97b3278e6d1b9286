/** Brings new roots into the world: their first entry and their record are one unit. */
import type { RootRecord } from "../../schemas/entry.ts";
import type { RootAddress, RootKind } from "../../schemas/ids.ts";
import type { Json } from "../../schemas/json.ts";
import { throughJson } from "../canonical.ts";
import type { StoreKey } from "../journal/store.ts";
import { crank } from "./crank.ts";
import { type Kernel, KernelError } from "./kernel.ts";
import { LiveRoot } from "./live_root.ts";

/** A root to be made. */
export interface Birth {
  readonly address: RootAddress;
  readonly kind: RootKind;
  readonly input: Json;
  /** Shown in lists; at most 200 characters. */
  readonly title: string;
  /** The task that is told if the root is lost. */
  readonly parent?: RootAddress;
  /** Who it belongs to, and what it is known by, if it was begun by the API. */
  readonly spawned?: Spawned | undefined;
  /** Rows to set in the unit of the birth. */
  readonly rows?: readonly { readonly key: StoreKey; readonly value: Json }[] | undefined;
}

/** Who a session belongs to, and what it is known by. */
export type Spawned = Pick<RootRecord, "owner" | "name" | "labels">;

/** Creates a root; resolves once it is durable. Refuses an address that is taken. */
export function create(kernel: Kernel, birth: Birth): Promise<void> {
  const { address, kind } = birth;
  if (kernel.records.has(address)) {
    return Promise.reject(
      new KernelError("address_taken", `"${address}" exists already: choose another address`),
    );
  }
  const createdAt = kernel.seams.clock.now();
  const record: RootRecord = {
    v: 1,
    address,
    kind,
    createdAt,
    status: "active",
    title: birth.title.slice(0, 200),
    ...(birth.parent === undefined ? {} : { parent: birth.parent }),
    ...birth.spawned,
  };
  kernel.records.set(address, record);
  kernel.journal.ownership.bear(address);
  const root = new LiveRoot(address, kind, kernel.machines[kind], kernel.desk);
  kernel.roots.set(address, root);
  kernel.recovered.add(address); // Whatever it asks, this runtime starts.
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  kernel.births.set(address, reject);
  const onAccepted = () => {
    kernel.births.delete(address);
    resolve();
  };
  // At once, not through the mailbox: who is created first is written first.
  const { rows } = birth;
  crank(kernel, root, { kind: "created", input: throughJson(birth.input), record, rows, onAccepted });
  return promise;
}
