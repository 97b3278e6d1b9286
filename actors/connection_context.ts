/** What a connection is created with, told, and remembers. */
import type { McpGreeting, McpListing } from "../schemas/effect.ts";
import type { Failure } from "../schemas/failure.ts";
import type { McpDeclaration } from "../schemas/manifest.ts";
import type { CommandRef, ConnectionMessage, Stamp } from "../schemas/message.ts";
import type { ServerSession } from "../schemas/server_session.ts";
import type { Health } from "./connection_health.ts";
import type { QuestionResult } from "./question.ts";
import type { ListState } from "./refresh.ts";

/** What a connection is created with. */
export interface ConnectionInput {
  readonly address: string;
  /** The root that is told what the server offers. */
  readonly catalog: string;
  readonly declaration: McpDeclaration;
}

/** What a connection is told. */
export type ConnectionEvent =
  | (ConnectionMessage & Stamp)
  | { readonly type: "xstate.done.actor.question"; readonly output: QuestionResult };

/** What a connection remembers. */
export interface ConnectionContext extends ConnectionInput, ListState, Health {
  /** The time of the latest event. */
  readonly at: number;
  /** The runtime of the latest message. Contexts of earlier releases have none. */
  readonly epoch?: number;
  /** The session that all calls share (CM-78). Contexts of earlier releases have none. */
  readonly session?: ServerSession | null;
  /** A declaration that takes the place of this one once the server has ended. */
  readonly next: McpDeclaration | null;
  /** True once a person has allowed this declaration. */
  readonly isApproved: boolean;
  /** True while somebody waits for an answer to `connection.open`. */
  readonly isAwaited: boolean;
  /** True if it shall be closed, whoever waits. */
  readonly isClosing: boolean;
  /** How often the server was started. */
  readonly launch: number;
  readonly greeting: McpGreeting | null;
  readonly listing: McpListing | null;
  readonly failure: Failure | null;
  readonly failedAtMs: number;
  /** True if closing ends in `failed`, since the server cannot be used. */
  readonly isFailing: boolean;
  /** True once the start at hand was given up: whatever comes of it, it is closed. */
  readonly isCanceled: boolean;
  /** How often starting was cut off since somebody was answered last. */
  readonly interruptions: number;
  readonly waiters: readonly CommandRef[];
  readonly closers: readonly CommandRef[];
  /** Resources that the session is subscribed to. Contexts of earlier releases have none. */
  readonly subscriptions?: readonly string[];
}
