/** Opens a session with a server by HTTP, as whoever we are to it. */
import type { GuardedClient, RequestTerms } from "../net/guarded_client.ts";
import type { HandshakeOptions, McpClient } from "./client.ts";
import type { ProtectedServer, ServerAuthorization } from "./oauth/server_authorization.ts";

/** What a session is opened with. */
export interface SessionDoor {
  /** The one way out by HTTP. */
  readonly fetch: GuardedClient["fetch"];
  /** Who we are to a server; without it, who its manifest's headers say. */
  readonly authorize?: (subject: ProtectedServer) => Promise<ServerAuthorization | undefined>;
}

/** Opens a session. Throws `McpFault`. What it needs is loaded with the first server by HTTP. */
export async function openSession(
  { fetch: way, authorize }: SessionDoor,
  { subject, headers, handshake, onDecision }: {
    readonly subject: ProtectedServer;
    readonly headers: { readonly [name: string]: string };
    readonly handshake: HandshakeOptions;
    /** Told of each hop of each request before anything is sent. */
    readonly onDecision: NonNullable<RequestTerms["onDecision"]>;
  },
): Promise<McpClient> {
  const plain: SessionDoor["fetch"] = (url, init, terms) => way(url, init, { ...terms, onDecision });
  const [{ openHttpClient }, { authorizedFetch, endpointOf }] = await Promise.all([
    import("./http_client.ts"),
    import("./oauth/server_authorization.ts"),
  ]);
  const { url } = subject.manifest;
  const authorization = await authorize?.(subject);
  const fetch = authorization === undefined
    ? plain
    : authorizedFetch(plain, authorization, endpointOf(subject.manifest));
  return await openHttpClient({ ...handshake, url, headers, fetch });
}
