/** The store as the journal needs it: ordered keys, one atomic commit, nothing else. */

/** A key: text and whole numbers, ordered part by part (text by its bytes, before numbers: Deno KV). At most 2,048 bytes. */
export type StoreKey = readonly (string | number)[];

/** One stored row. `versionstamp` changes with every commit that writes the key. */
export interface Row {
  readonly key: StoreKey;
  readonly value: unknown;
  readonly versionstamp: string;
}

/** One all-or-nothing write. Only these three verbs: a failing `sum` would leave earlier sets in place (notes, finding 4). */
export interface Commit {
  readonly checks: readonly { readonly key: StoreKey; readonly versionstamp: string | null }[];
  readonly sets: readonly { readonly key: StoreKey; readonly value: unknown }[];
  readonly deletes: readonly StoreKey[];
}

/** What a commit did. `ok: false` means that a check failed and nothing was written. */
export type CommitResult = { readonly ok: true; readonly versionstamp: string } | { readonly ok: false };

/** Where a list begins and ends; `start` is included, `end` is not. */
export interface ListRange {
  readonly prefix: StoreKey;
  readonly start?: StoreKey;
  readonly end?: StoreKey;
  readonly limit?: number;
  readonly reverse?: boolean;
}

/**
 * An ordered store. Values are strings, numbers, plain JSON objects or `Uint8Array`, at most 65,536 bytes each;
 * a commit holds at most 1,000 mutations, 100 checks and 819,200 bytes. A commit that throws is *unknown*: it may
 * have been written (read back before deciding). Throws {@linkcode StoreError}.
 */
export interface Store {
  get(key: StoreKey): Promise<Row | null>;
  list(range: ListRange): AsyncIterable<Row>;
  commit(commit: Commit): Promise<CommitResult>;
  close(): void;
}

/** Why a store refused. Each maps to one exit code in `src/cli/exit.ts`. */
export type StoreErrorCode =
  | "store_in_use"
  | "store_fenced"
  | "store_corrupt"
  | "store_full"
  | "store_busy"
  | "store_not_found"
  | "store_unusable"
  | "store_from_newer_version"
  | "store_unauthorized"
  | "store_unreachable"
  | "store_insecure"
  | "store_protocol_unsupported"
  | "lease_lost"
  | "journal_corrupt"
  | "value_too_large"
  | "id_too_long";

/** A broken or refusing store; carries a stable code and one line that says what to do. */
export class StoreError extends Error {
  readonly code: StoreErrorCode;
  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StoreError";
    this.code = code;
  }
}
