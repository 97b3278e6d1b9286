/** What is asked of the open connections of a runtime. */
import type { RootAddress } from "../../schemas/ids.ts";
import type { McpDeclaration } from "../../schemas/manifest.ts";

/** One start of one server. */
export interface Launch {
  readonly root: RootAddress;
  readonly launch: number;
}

/** What is waited for of a start. */
export interface Watch extends Launch {
  /** True if a change of its tools is no news. */
  readonly stale?: boolean | undefined;
  /** After so long without a call the server is idle. Milliseconds; never without. */
  readonly idleMs?: number | undefined;
  /** What the session is subscribed to. */
  readonly subscriptions?: readonly string[] | undefined;
  /** Aborted when nobody waits any more: then the server is not taken for idle. */
  readonly signal?: AbortSignal;
}

/** What is ended, and how patiently. */
export interface Close extends Launch {
  /** How long calls in flight are waited for. Milliseconds; not at all without. */
  readonly drainMs?: number | undefined;
}

/** What is started, and until when. */
export interface ConnectOrder extends Launch {
  readonly declaration: McpDeclaration;
  readonly deadlineAtMs: number;
  readonly signal: AbortSignal;
  readonly onNotice: (text: string) => void;
}
