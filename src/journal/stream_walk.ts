/** How far one stream was found sound, value after value. */
import { type Entry, type RootRecord, StreamHead } from "../../schemas/entry.ts";
import { type OpenPort, OpenPorts } from "./open_ports.ts";
import { genesisHash, type PackedHeader } from "./packed_value.ts";

/** One stream as it was found. */
export interface StreamReport {
  readonly root: string;
  /** What the store keeps of the root beside its stream; undefined if that is missing or cannot be read. */
  readonly record: RootRecord | undefined;
  /** End of the longest prefix that is sound: seq 0 if there is none. */
  readonly sound: StreamHead;
  /** First sequences of the packed values of that prefix. */
  readonly values: readonly number[];
  /** Blobs that the prefix refers to. */
  readonly blobs: readonly string[];
  /** What waits for an outcome at the end of that prefix. */
  readonly open: readonly OpenPort[];
  /** True if nothing lies behind the sound prefix and the head agrees. */
  readonly whole: boolean;
  /** Last entry that was there, by the head or by what lies behind the damage. */
  readonly end: number;
}

/** What one value adds to a walk. */
export interface WalkStep {
  readonly header: PackedHeader;
  /** Blobs that its entries name. */
  readonly names: readonly string[];
  /** Entries that open or close ports, bodies put back. */
  readonly moves: readonly Entry[];
  /** False if a body cannot be read: that ends the sound prefix, but not the chain. */
  readonly isReadable: boolean;
}

/** How far one stream is sound, and where the next value must begin. */
export class StreamWalk {
  readonly root: string;
  next = 1;
  /** Hash of the value before; undefined behind damage, where the chain cannot be followed. */
  prev: string | undefined = genesisHash;
  isSound = true;
  /** Index of the last finding, while it is not known where its damage ends. */
  damageAt: number | undefined;
  sound: StreamHead = { seq: 0, hash: genesisHash };
  /** Last entry of any value that could be read. */
  end = 0;
  readonly values: number[] = [];
  readonly blobs = new Set<string>();
  readonly #ports = new OpenPorts();

  constructor(root: string) {
    this.root = root;
  }

  take({ header, names, moves, isReadable }: WalkStep): void {
    const { first, last, hash } = header;
    this.prev = hash;
    this.next = last + 1;
    this.end = last;
    if (!isReadable) this.isSound = false;
    if (!this.isSound) return;
    this.sound = { seq: last, hash };
    this.values.push(first);
    for (const name of names) this.blobs.add(name);
    for (const entry of moves) this.#ports.take(entry);
  }

  break(damageAt: number | undefined): void {
    this.isSound = false;
    this.prev = undefined;
    this.damageAt = damageAt;
  }

  /** What was found, once the walk is over. `headSeq`: where the head says that the stream ends. */
  report(
    { record, agrees, headSeq }: {
      readonly record: RootRecord | undefined;
      readonly agrees: boolean;
      readonly headSeq: number;
    },
  ): StreamReport {
    const { root, sound, values, blobs, isSound } = this;
    const end = Math.max(headSeq, this.end, sound.seq);
    const open = this.#ports.list();
    return { root, record, sound, values, blobs: [...blobs], open, whole: isSound && agrees, end };
  }
}
