/** What a connection stores of the session with its server (CM-78..82): kept by the binding's root, cleared on loss. */
import type { FailureCode } from "../schemas/failure.ts";
import type { Json } from "../schemas/json.ts";
import type { Outgoing } from "../schemas/message.ts";
import { type ServerSession, type ServerState, urlWithoutQuery } from "../schemas/server_session.ts";
import type { ConnectionContext } from "./connection_context.ts";

/** The session as it is after the handshake. Of a process the launch is its id: it lives as long as the process. */
export function begunSession({ declaration, greeting, launch }: ConnectionContext): ServerSession {
  const { server, manifest } = declaration;
  const isProcess = manifest.transport === "stdio";
  return {
    server,
    transport: greeting?.session?.transport ?? manifest.transport,
    url: isProcess ? null : urlWithoutQuery(manifest.url),
    id: isProcess ? `launch-${launch}` : greeting?.session?.id ?? null,
    state: "new",
    lastEvent: null,
    initialize: greeting,
  };
}

/** The session once something was asked in it, and the note of that; the same if it was open already. */
export function openedSession(context: ConnectionContext): SessionStep {
  const { session } = context;
  if (session?.state === "open") return { session, notes: [] };
  return step({ ...(session ?? begunSession(context)), state: "open" });
}

/** The session once it is lost or ended: nothing of it is used again (CM-81). */
export function clearedSession({ session = null }: ConnectionContext): SessionStep {
  if (session === null || session.state === "closed") return { session, notes: [] };
  return step({ ...session, id: null, state: "closed", lastEvent: null, initialize: null });
}

/** What is stored from now on, and what the journal says of it. */
export interface SessionStep {
  readonly session: ServerSession | null;
  readonly notes: readonly Outgoing[];
}

function step(session: ServerSession): SessionStep {
  return { session, notes: [{ kind: "note", type: "connection.session", body: session as unknown as Json }] };
}

/** Failures that a login helps against. */
const ofLogin: ReadonlySet<FailureCode> = new Set([
  "mcp_auth_failed",
  "mcp_auth_required",
  "mcp_login_required",
  "mcp_scope_insufficient",
]);

/** What people are told of a server whose connection failed, by the failure's code; of one that is ready without any. */
export function serverStateOf(code: FailureCode | null): ServerState {
  if (code === null) return "connected";
  if (code === "mcp_disabled") return "disabled";
  return ofLogin.has(code) ? "needs_auth" : "failed";
}
