/** An ordered store in memory with the limits and errors of Deno KV, faults on demand, and a life after its death. */
import { keyBytes } from "../../src/journal/keys.ts";
import { storeLimits, valueBytes } from "../../src/journal/row_size.ts";
import {
  type Commit,
  type CommitResult,
  type ListRange,
  type Row,
  type Store,
  StoreError,
  type StoreKey,
} from "../../src/journal/store.ts";

/** What goes wrong with one commit. `refuse` answers `ok: false` without a reason, as a foreign writer would cause. */
export type Fault = "throw_before" | "throw_after" | "hang" | "hang_after" | "refuse" | StoreError;

/** Decides about the `n`-th commit of one handle, from 1. */
export type FaultPlan = (n: number, commit: Commit) => Fault | undefined;

/** A call that waits for the driver of a simulation. `apply` lets it take hold, `settle` tells the caller. */
export interface PendingCall {
  readonly kind: "get" | "list" | "commit";
  /** Order of the call in its handle, from 1. */
  readonly number: number;
  apply(): void;
  /** Applies if that was not done, then answers. */
  settle(): void;
}

/** Options of {@linkcode MemoryDisk.open}. */
export interface MemoryStoreOptions {
  readonly faults?: FaultPlan | undefined;
  /** True if the read at hand fails with `store_busy`. */
  readonly readFaults?: (() => boolean) | undefined;
  /** If set, no call completes by itself: each is handed to the gate, and completes when the driver settles it. */
  readonly gate?: ((call: PendingCall) => void) | undefined;
}

/** A handle on a {@linkcode MemoryDisk}. */
export interface MemoryStore extends Store {
  /** Commits that were asked for, in order, whether or not they took hold. */
  readonly commits: readonly Commit[];
  /** From now on no call ever answers and nothing more is written: a crash of the process that held this handle. */
  die(): void;
  /** Answers the commits that a fault let hang; `apply` says whether those of kind `hang` take hold first. */
  release(apply: boolean): void;
}

interface Stored {
  readonly key: StoreKey;
  readonly order: string;
  value: unknown;
  versionstamp: string;
}

/** True for text that is its own order: one byte a character, and no zero. */
function isPlain(text: string): boolean {
  // deno-lint-ignore no-control-regex -- a zero byte is what makes the difference
  return /^[\x01-\x7f]*$/.test(text);
}

function orderOfBytes(text: string): string {
  let order = "";
  for (const byte of new TextEncoder().encode(text)) {
    order += byte === 0 ? "\0\xff" : String.fromCharCode(byte);
  }
  return order;
}

/** Text of bytes whose order is the order of Deno KV: text before numbers, part by part. */
function orderOf(key: StoreKey): string {
  let order = "";
  for (const part of key) {
    if (typeof part === "string") {
      order += `\x02${isPlain(part) ? part : orderOfBytes(part)}\0`;
    } else {
      const view = new DataView(new ArrayBuffer(8));
      view.setFloat64(0, part);
      // IEEE order becomes byte order: flip the sign of positives, all bits of negatives.
      const negative = (view.getUint8(0) & 0x80) !== 0;
      order += "\x21";
      for (let i = 0; i < 8; i++) {
        order += String.fromCharCode(
          negative ? view.getUint8(i) ^ 0xff : view.getUint8(i) ^ (i === 0 ? 0x80 : 0),
        );
      }
    }
  }
  return order;
}

function copyOf(value: unknown): unknown {
  if (value instanceof Uint8Array) return value.slice();
  if (Array.isArray(value)) return value.map(copyOf);
  if (typeof value === "function" || typeof value === "symbol") {
    throw new TypeError("Cannot store this value");
  }
  if (typeof value !== "object" || value === null) return value;
  // By hand: a simulation copies small rows a million times.
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, copyOf(part)]));
}

/** The data: survives its handles. Deterministic: the same calls give the same versionstamps. */
export class MemoryDisk {
  #rows: Stored[] = [];
  #version = 0;

  /** Opens a handle. Several may be open at once, as with Deno KV. */
  open(options: MemoryStoreOptions = {}): MemoryStore {
    return new MemoryHandle(this, options);
  }

  /** Every row in order, values copied. */
  rows(): Row[] {
    return this.#rows.map(({ key, value, versionstamp }) => ({ key, value: copyOf(value), versionstamp }));
  }

  /** Every row in order, as it is kept: not to be changed. */
  peek(): readonly Row[] {
    return this.#rows;
  }

  /** Changes or removes (undefined) one stored value behind everybody's back: a damaged disk. */
  damage(key: StoreKey, change: (value: unknown) => unknown): void {
    const index = this.#find(orderOf(key));
    const row = this.#rows[index];
    if (row?.order !== orderOf(key)) throw new Error(`Cannot damage row ${key.join("/")}: it is not there`);
    const value = change(copyOf(row.value));
    if (value === undefined) this.#rows.splice(index, 1);
    else row.value = value;
  }

  /** A second disk with the same rows. */
  copy(): MemoryDisk {
    const disk = new MemoryDisk();
    disk.#rows = this.#rows.map((row) => ({ ...row, value: copyOf(row.value) }));
    disk.#version = this.#version;
    return disk;
  }

  get(key: StoreKey): Row | null {
    if (keyBytes(key) > 2_049) throw new StoreError("id_too_long", "Key too large for read (max 2049 bytes)");
    const order = orderOf(key);
    const row = this.#rows[this.#find(order)];
    if (row?.order !== order) return null;
    return { key, value: copyOf(row.value), versionstamp: row.versionstamp };
  }

  list({ prefix, start, end, limit, reverse }: ListRange): Row[] {
    // A row whose key is the prefix itself does not lie under the prefix.
    const low = start === undefined ? `${orderOf(prefix)}\x01` : orderOf(start);
    const high = end === undefined ? `${orderOf(prefix)}\xff` : orderOf(end);
    if (low > high) throw new TypeError("Start key is greater than end key");
    const found = this.#rows.slice(this.#find(low), this.#find(high));
    if (reverse) found.reverse();
    return found.slice(0, limit).map(({ key, value, versionstamp }) => ({
      key,
      value: copyOf(value),
      versionstamp,
    }));
  }

  commit(commit: Commit): CommitResult {
    checkLimits(commit);
    for (const { key, versionstamp } of commit.checks) {
      if ((this.get(key)?.versionstamp ?? null) !== versionstamp) return { ok: false };
    }
    this.#version += 1;
    const versionstamp = this.#version.toString(16).padStart(16, "0") + "0000";
    for (const { key, value } of commit.sets) this.#set(key, copyOf(value), versionstamp);
    for (const key of commit.deletes) {
      const order = orderOf(key);
      const index = this.#find(order);
      if (this.#rows[index]?.order === order) this.#rows.splice(index, 1);
    }
    return { ok: true, versionstamp };
  }

  #set(key: StoreKey, value: unknown, versionstamp: string): void {
    const order = orderOf(key);
    const index = this.#find(order);
    const row = this.#rows[index];
    if (row?.order === order) Object.assign(row, { value, versionstamp });
    else this.#rows.splice(index, 0, { key: [...key], order, value, versionstamp });
  }

  /** Index of the first row at or after `order`. */
  #find(order: string): number {
    let low = 0;
    let high = this.#rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#rows[middle]?.order ?? "") < order) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function checkLimits({ checks, sets, deletes }: Commit): void {
  const refuse = (what: string) => new StoreError("value_too_large", `Cannot write store: ${what}`);
  if (checks.length > storeLimits.commitChecksMax) throw refuse("Too many checks (max 100)");
  if (sets.length + deletes.length > storeLimits.commitMutationsMax) {
    throw refuse("Too many mutations (max 1000)");
  }
  let bytes = 0;
  let ofKeys = 0;
  const measure = (key: StoreKey) => {
    const size = keyBytes(key);
    if (size > 2_048) throw new StoreError("id_too_long", "Key too large for write (max 2048 bytes)");
    ofKeys += size;
    return size;
  };
  const sizes = sets.map(({ key }) => measure(key));
  for (const key of deletes) measure(key);
  sets.forEach(({ value }, index) => {
    const size = valueBytes(value);
    if (size > storeLimits.valueBytesMax) throw refuse("Value too large (max 65536 bytes)");
    bytes += size + (sizes[index] ?? 0);
  });
  if (bytes > storeLimits.commitBytesMax) throw refuse("Total mutation size too large (max 819200 bytes)");
  if (ofKeys > storeLimits.commitKeyBytesMax) throw refuse("Total key size too large (max 81920 bytes)");
}

class MemoryHandle implements MemoryStore {
  readonly commits: Commit[] = [];
  readonly #disk: MemoryDisk;
  readonly #options: MemoryStoreOptions;
  #calls = 0;
  #dead = false;
  #closed = false;
  #hanging: ((apply: boolean) => void)[] = [];

  constructor(disk: MemoryDisk, options: MemoryStoreOptions) {
    this.#disk = disk;
    this.#options = options;
  }

  get(key: StoreKey): Promise<Row | null> {
    return this.#read("get", () => this.#disk.get(key));
  }

  async *list(range: ListRange): AsyncIterable<Row> {
    yield* await this.#read("list", () => this.#disk.list(range));
  }

  commit(commit: Commit): Promise<CommitResult> {
    this.commits.push(commit);
    const fault = this.#options.faults?.(this.commits.length, commit);
    if (fault === "hang" || fault === "hang_after") {
      const early = fault === "hang_after" ? this.#disk.commit(commit) : undefined;
      return new Promise((resolve, reject) => {
        this.#hanging.push((apply) => {
          if (this.#dead) return;
          if (early !== undefined) resolve(early);
          else if (apply) resolve(this.#disk.commit(commit));
          else reject(new Error("store_fault: commit hung and was given up"));
        });
      });
    }
    return this.#call("commit", () => {
      if (fault instanceof StoreError) throw fault;
      if (fault === "throw_before") throw new Error("store_fault: thrown before the commit");
      if (fault === "refuse") return { ok: false };
      const result = this.#disk.commit(commit);
      if (fault === "throw_after") throw new Error("store_fault: thrown after the commit");
      return result;
    });
  }

  close(): void {
    this.#closed = true;
  }

  die(): void {
    this.#dead = true;
  }

  release(apply: boolean): void {
    for (const answer of this.#hanging.splice(0)) answer(apply);
  }

  #read<Result>(kind: "get" | "list", run: () => Result): Promise<Result> {
    const isFaulty = this.#options.readFaults?.() ?? false;
    return this.#call(kind, () => {
      if (isFaulty) throw new StoreError("store_busy", "store_fault: the read failed");
      return run();
    });
  }

  #call<Result>(kind: PendingCall["kind"], run: () => Result): Promise<Result> {
    this.#calls += 1;
    const number = this.#calls;
    return new Promise((resolve, reject) => {
      if (this.#dead) return;
      if (this.#closed) return reject(new StoreError("store_unusable", "Cannot use store: it is closed"));
      let answer: (() => void) | undefined;
      const apply = () => {
        if (answer !== undefined || this.#dead) return;
        try {
          const result = run();
          answer = () => resolve(result);
        } catch (error) {
          answer = () => reject(error);
        }
      };
      const settle = () => {
        apply();
        if (!this.#dead) answer?.();
      };
      if (this.#options.gate === undefined) settle();
      else this.#options.gate({ kind, number, apply, settle });
    });
  }
}
