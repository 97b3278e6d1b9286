/** What a connection needs of its transport, whatever carries its messages. */
import type { McpEnd } from "../../schemas/effect.ts";
import type { Failure } from "../../schemas/failure.ts";
import type { Asked } from "./asked.ts";
import type { Transport } from "./sdk_v1.ts";

/** A transport of the SDK that knows what became of each request. */
export interface Wire extends Transport {
  /** The revision that was agreed on. */
  readonly protocolVersion: string;
  readonly asked: Asked;
  /** Why there is no connection any more; resolves once. */
  readonly lost: Promise<Failure>;
  /** Why there is no connection any more; undefined while there is one. */
  readonly loss: Failure | undefined;
  /** Gives a request up, also on its way. */
  forget(request: number): void;
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
