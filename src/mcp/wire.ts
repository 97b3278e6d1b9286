/** What a connection needs of its transport, whatever carries its messages. */
import type { McpEnd } from "../../schemas/effect.ts";
import type { Failure } from "../../schemas/failure.ts";
import type { McpEra } from "../../schemas/mcp_revision.ts";
import type { Asked } from "./asked.ts";
import type { Transport } from "./sdk_v1.ts";

/** A transport of the SDK that knows what became of each request. */
export interface Wire extends Transport {
  /** The revision that was agreed on. */
  readonly protocolVersion: string;
  readonly asked: Asked;
  /** True if every request has a way of its own, which can be cut off. */
  readonly isPerRequest: boolean;
  /** Why there is no connection any more; resolves once. */
  readonly lost: Promise<Failure>;
  /** Why there is no connection any more; undefined while there is one. */
  readonly loss: Failure | undefined;
  /** Gets ready for the first message of an era, or of another one: what the last one left behind does not count. */
  begin(era: McpEra): void;
  /** Gives a request up, also on its way. */
  forget(request: number): void;
  /** Ends the connection for a reason of the server's; the first one counts. */
  end(reason: Failure): void;
  /** Ends the connection from our side. */
  close(): Promise<void>;
}

/** The other side of a wire. */
export interface FarSide {
  /** Ends it in order, once the wire was closed. One end for all callers. */
  end(): Promise<McpEnd>;
  /** Ends it at once. */
  kill(): void;
  /** What it said that was no message, for people; empty if nothing. */
  lastWords(): string;
}
