/** What an operator writes into a manifest about logins, for a scenario in which an authorization server knows the client. */

/** What the suite says of that client. */
export interface KnownClient {
  readonly client_id?: string;
  readonly client_secret?: string;
  /** A private key in PEM, by which the client proves who it is instead of a secret. */
  readonly private_key_pem?: string;
  readonly issuer?: string;
}

/** The document that the suite takes for the client's own. */
const metadataDocument = "https://conformance-test.local/client-metadata.json";
/** The variable in which the secret is. */
const secretName = "CONFORMANCE_SECRET";

/** The secret, and the environment in which it is found; undefined if there is none. */
export function secretOf({ client_secret, private_key_pem }: KnownClient) {
  const value = client_secret ?? private_key_pem;
  return value === undefined ? undefined : { [secretName]: value };
}

/** `auth` of the manifest; nothing for a client that registers itself. */
export async function authOf(scenario: string, url: string, client: KnownClient): Promise<object> {
  if (scenario === "auth/basic-cimd") return { auth: { type: "oauth", client_id: metadataDocument } };
  const { client_id, client_secret } = client;
  if (client_id === undefined) return {};
  const reference = `\${${secretName}}`;
  return {
    auth: {
      type: "oauth",
      client_id,
      ...(client_secret === undefined ? { private_key: reference } : { client_secret: reference }),
      ...(scenario.startsWith("auth/client-credentials-") ? { grant: "client_credentials" } : {}),
      // Whoever got a secret knows from whom; where the suite does not say it, the server names one only.
      issuer: client.issuer ?? await issuerOf(url),
    },
  };
}

async function issuerOf(url: string): Promise<string> {
  const response = await fetch(new URL("/.well-known/oauth-protected-resource/mcp", url));
  const { authorization_servers: [issuer] } = await response.json();
  return issuer;
}
