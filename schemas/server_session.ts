/** The session with one MCP server that all calls of its bindings share (CM-78, CM-79, CM-82). */
import { z } from "zod";
import { McpGreeting } from "./effect.ts";
import { ServerId } from "./ids.ts";

/** What is stored of a session, in the connection itself and in its journal: there is no table of sessions. */
export const ServerSession = z.strictObject({
  server: ServerId,
  transport: z.enum(["stdio", "streamable_http", "sse"]),
  /** Null for a server that is a process. */
  url: z.string().nullable(),
  /** Of a process, its launch; of HTTP, what the server gave. Null before the first session and once it is lost. */
  id: z.string().max(1_000).nullable(),
  /** `new`: the handshake is done, nothing was asked yet; `closed`: another call begins another session. */
  state: z.enum(["new", "open", "closed"]),
  /** Id of the last event of the server's stream, for transports that have one. */
  lastEvent: z.string().max(1_000).nullable(),
  /** What the server answered to `initialize`. */
  initialize: McpGreeting.nullable(),
});
/** What is stored of a session. */
export type ServerSession = z.infer<typeof ServerSession>;

/** What people are told of a server, whatever its connection is at just now (LC-23). */
export const ServerState = z.enum(["connected", "pending", "needs_auth", "failed", "disabled"]);
/** What people are told of a server. */
export type ServerState = z.infer<typeof ServerState>;

/** A URL without what may be secret in it: its query, and its fragment. */
export function urlWithoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, "");
}
