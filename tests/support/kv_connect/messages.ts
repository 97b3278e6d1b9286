/** The messages of KV Connect's data path that a server of the tests must understand, by their field numbers. */
import protobuf from "protobufjs";

const repeated = "repeated";

/** Field numbers and types as the protocol, version 3, has them. What no client of ours sends is left out. */
const root = protobuf.Root.fromJSON({
  nested: {
    SnapshotRead: { fields: { ranges: { id: 1, type: "ReadRange", rule: repeated } } },
    ReadRange: {
      fields: {
        start: { id: 1, type: "bytes" },
        end: { id: 2, type: "bytes" },
        limit: { id: 3, type: "int32" },
        reverse: { id: 4, type: "bool" },
      },
    },
    SnapshotReadOutput: {
      fields: {
        ranges: { id: 1, type: "ReadRangeOutput", rule: repeated },
        readIsStronglyConsistent: { id: 4, type: "bool" },
        status: { id: 8, type: "int32" },
      },
    },
    ReadRangeOutput: { fields: { values: { id: 1, type: "KvEntry", rule: repeated } } },
    KvEntry: {
      fields: {
        key: { id: 1, type: "bytes" },
        value: { id: 2, type: "bytes" },
        encoding: { id: 3, type: "int32" },
        versionstamp: { id: 4, type: "bytes" },
      },
    },
    AtomicWrite: {
      fields: {
        checks: { id: 1, type: "Check", rule: repeated },
        mutations: { id: 2, type: "Mutation", rule: repeated },
        enqueues: { id: 3, type: "bytes", rule: repeated },
      },
    },
    Check: { fields: { key: { id: 1, type: "bytes" }, versionstamp: { id: 2, type: "bytes" } } },
    Mutation: {
      fields: {
        key: { id: 1, type: "bytes" },
        value: { id: 2, type: "KvValue" },
        mutationType: { id: 3, type: "int32" },
      },
    },
    KvValue: { fields: { data: { id: 1, type: "bytes" }, encoding: { id: 2, type: "int32" } } },
    AtomicWriteOutput: {
      fields: { status: { id: 1, type: "int32" }, versionstamp: { id: 2, type: "bytes" } },
    },
  },
});

/** The numbers of the protocol's enumerations. */
export const numbers = { readSuccess: 1, writeSuccess: 1, checkFailure: 2, set: 1, delete: 2 } as const;

/** A range of keys to read. */
export interface ReadRange {
  readonly start: Uint8Array;
  readonly end: Uint8Array;
  readonly limit: number;
  readonly reverse: boolean;
}

/** One row, as it is sent. */
export interface KvEntry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  readonly encoding: number;
  readonly versionstamp: Uint8Array;
}

/** A commit that is asked for. An empty versionstamp means that there must be no such row. */
export interface AtomicWrite {
  readonly checks: readonly { readonly key: Uint8Array; readonly versionstamp: Uint8Array }[];
  readonly mutations: readonly {
    readonly key: Uint8Array;
    readonly value: { readonly data: Uint8Array; readonly encoding: number } | null;
    readonly mutationType: number;
  }[];
  readonly enqueues: readonly unknown[];
}

function read<T>(name: string, bytes: Uint8Array): T {
  const type = root.lookupType(name);
  return type.toObject(type.decode(bytes), { defaults: true, arrays: true }) as T;
}

function write(name: string, message: { readonly [field: string]: unknown }): Uint8Array<ArrayBuffer> {
  const type = root.lookupType(name);
  return new Uint8Array(type.encode(type.fromObject(message)).finish());
}

/** The ranges that a client asks for. */
export function readSnapshotRead(bytes: Uint8Array): readonly ReadRange[] {
  return read<{ readonly ranges: readonly ReadRange[] }>("SnapshotRead", bytes).ranges;
}

/** The commit that a client asks for. */
export function readAtomicWrite(bytes: Uint8Array): AtomicWrite {
  return read("AtomicWrite", bytes);
}

/** The answer to a read: the rows of each range. */
export function writeSnapshot(ranges: readonly (readonly KvEntry[])[]): Uint8Array<ArrayBuffer> {
  return write("SnapshotReadOutput", {
    ranges: ranges.map((values) => ({ values })),
    readIsStronglyConsistent: true,
    status: numbers.readSuccess,
  });
}

/** The answer to a commit: its versionstamp, or that a check failed. */
export function writeAtomicOutput(versionstamp: Uint8Array | undefined): Uint8Array<ArrayBuffer> {
  return versionstamp === undefined
    ? write("AtomicWriteOutput", { status: numbers.checkFailure })
    : write("AtomicWriteOutput", { status: numbers.writeSuccess, versionstamp });
}
