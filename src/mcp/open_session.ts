/** Opens a session with a server by HTTP, as whoever we are to it. */
import type { GuardedClient } from "../net/guarded_client.ts";
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
  { fetch: plain, authorize }: SessionDoor,
  { subject, headers, handshake }: {
    readonly subject: ProtectedServer;
    readonly headers: { readonly [name: string]: string };
    readonly handshake: HandshakeOptions;
  },
): Promise<McpClient> {
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
