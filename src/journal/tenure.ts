/** Units that wait to be written, and the ownership under which each was pushed: what outlived it is left out (K17). */
import type { Group, QueueItem } from "./group.ts";
import type { Ownership } from "./ownership.ts";
import type { Unit } from "./unit.ts";

/** The ownership of one writer's units. Where the store is not shared nothing is kept, and nothing is ever stale. */
export class Tenure {
  readonly #ownership: Ownership;
  readonly #epochs = new WeakMap<Unit, number>();

  constructor(ownership: Ownership) {
    this.#ownership = ownership;
  }

  /** True where units can become stale. */
  get isKept(): boolean {
    return this.#ownership.isShared;
  }

  /** True if this runtime may write the unit's root. */
  admits({ root }: Unit): boolean {
    return this.#ownership.isOurs(root);
  }

  /** Notes under which epoch a unit is pushed. */
  note(unit: Unit): void {
    if (this.#ownership.isShared) this.#epochs.set(unit, this.#ownership.epochOf(unit.root));
  }

  /** Roots of a group whose units were pushed under an ownership that has ended, whoever owns them now. */
  staleIn({ units }: Group): ReadonlySet<string> {
    if (!this.#ownership.isShared) return none;
    return new Set(units.filter(({ unit }) => this.#isStale(unit)).map(({ unit }) => unit.root));
  }

  /** Takes stale units out of the queue, and out of the group at hand. Returns how many there were. */
  leaveOut(queue: QueueItem[], group?: Group): number {
    if (!this.#ownership.isShared) return 0;
    let dropped = 0;
    for (const list of group === undefined ? [queue] : [queue, group.done]) {
      const kept = list.filter(({ prepared }) => prepared === undefined || !this.#isStale(prepared.unit));
      dropped += list.length - kept.length;
      list.splice(0, list.length, ...kept);
    }
    if (group !== undefined) {
      group.units.splice(0, group.units.length, ...group.units.filter(({ unit }) => !this.#isStale(unit)));
    }
    return dropped;
  }

  #isStale(unit: Unit): boolean {
    const { root } = unit;
    return !this.#ownership.isOurs(root) || this.#epochs.get(unit) !== this.#ownership.epochOf(root);
  }
}

const none: ReadonlySet<string> = new Set();
