/** Who we are to an authorization server: registered before, described by a document, or registered on the spot. */
import { z } from "zod";
import type { OAuthAuth } from "../../../schemas/mcp_auth.ts";
import { authFailed, authUnavailable } from "./auth_error.ts";
import { askJson, type GuardedFetch } from "./json_answer.ts";
import { originOf, Registration, type ServerMetadata } from "./metadata.ts";

/** How a client proves at the token endpoint who it is. */
export const ClientMethod = z.enum(["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]);
/** How a client proves at the token endpoint who it is. */
export type ClientMethod = z.infer<typeof ClientMethod>;

/** A client as it is kept. Secrets that the manifest names are not in it. */
export const OAuthClient = z.strictObject({
  id: z.string().min(1).max(2_048),
  /** `registered`: on the spot. */
  kind: z.enum(["configured", "document", "registered"]),
  method: ClientMethod,
  /** Of a registered client. */
  secret: z.string().max(2_048).optional(),
});
/** A client as it is kept. */
export type OAuthClient = z.infer<typeof OAuthClient>;

/** What a client is chosen by. */
export interface ClientChoice {
  readonly fetch: GuardedFetch;
  readonly server: ServerMetadata;
  readonly auth: OAuthAuth | undefined;
  readonly redirectUri: string | undefined;
  readonly scopes: readonly string[];
  readonly signal?: AbortSignal | undefined;
}

/** The client for a login: the manifest's if it names one, else one that registers itself. */
export async function chooseClient(choice: ClientChoice): Promise<OAuthClient> {
  const { auth, server } = choice;
  const id = auth?.client_id;
  if (id === undefined) return await register(choice);
  if (!isDocumentId(id) || auth?.client_secret !== undefined) {
    return { id, kind: "configured", method: methodOf(auth, server) };
  }
  if (auth?.private_key !== undefined) return { id, kind: "document", method: "private_key_jwt" };
  if (server.client_id_metadata_document_supported === true) return { id, kind: "document", method: "none" };
  // Documents are newer than registration: who does not know them may know that.
  return await register(choice);
}

/** An https URL with a path is the address of a client's metadata document. */
export function isDocumentId(id: string): boolean {
  const url = URL.parse(id);
  return url?.protocol === "https:" && url.pathname !== "/";
}

function methodOf(auth: OAuthAuth | undefined, server: ServerMetadata): ClientMethod {
  if (auth?.private_key !== undefined) return "private_key_jwt";
  return auth?.client_secret === undefined ? "none" : secretMethod(server);
}

/** Without a word of the server it is the header, which every server must know (RFC 6749, 2.3.1). */
function secretMethod(server: ServerMetadata): ClientMethod {
  const known = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
  return known.includes("client_secret_basic") || !known.includes("client_secret_post")
    ? "client_secret_basic"
    : "client_secret_post";
}

async function register({ fetch, server, redirectUri, scopes, signal }: ClientChoice): Promise<OAuthClient> {
  const name = originOf(server.issuer);
  const { registration_endpoint: url } = server;
  if (url === undefined || redirectUri === undefined) {
    throw authFailed(
      `Cannot log in: ${name} registers no clients; register one there, and name it in the manifest (auth: client_id)`,
    );
  }
  const { status, body } = await askJson({
    ...{ fetch, url, signal, method: "POST", what: `the registration at ${name}` },
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      client_name: "troupe",
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: registeredMethod(server),
      application_type: "native",
      ...(scopes.length === 0 ? {} : { scope: scopes.join(" ") }),
    }),
  });
  if (status >= 500 || status === 429) {
    throw authUnavailable(`Cannot register at ${name}: it answers with status ${status}`);
  }
  const parsed = Registration.safeParse(body);
  if (status >= 400 || !parsed.success) {
    throw authFailed(`Cannot register at ${name}: it refuses (status ${status})`);
  }
  const { client_id: id, client_secret: secret, token_endpoint_auth_method: told } = parsed.data;
  return {
    id,
    kind: "registered",
    method: toldMethod(told, secret, server),
    ...(secret === undefined ? {} : { secret }),
  };
}

/** A program on a person's machine keeps no secret if it need not. */
function registeredMethod(server: ServerMetadata): ClientMethod {
  const known = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
  return known.includes("none") ? "none" : secretMethod(server);
}

function toldMethod(
  told: string | undefined,
  secret: string | undefined,
  server: ServerMetadata,
): ClientMethod {
  if (secret === undefined) return "none";
  const method = ClientMethod.safeParse(told);
  if (method.success && method.data !== "private_key_jwt") return method.data;
  return secretMethod(server);
}
