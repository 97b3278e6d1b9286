/** How a run proves to servers by HTTP who it is: by what `troupe mcp auth` made, or by a secret that a manifest names. */
import type { KnownSecrets } from "../redact/known_secrets.ts";
import type { GuardedClient } from "../net/guarded_client.ts";
import type { Seams } from "../seams.ts";
import type { ProtectedServer, ServerAuthorization } from "../mcp/oauth/server_authorization.ts";

/** What logins are read with. */
export interface LoginParts {
  /** The file of what is trusted, beside which logins are kept; undefined where there is no place for either. */
  readonly trustFile: string | undefined;
  readonly fetch: GuardedClient["fetch"];
  readonly clock: Seams["clock"];
  readonly digest: Seams["digest"];
  /** Takes every token out of what comes in, from the moment at which it is read. */
  readonly known: KnownSecrets;
  readonly readSecret: (name: string) => string | undefined;
}

/** Makes who asks for the authorization of a server. What it needs is loaded with the first server by HTTP. */
export function createLogins(
  { trustFile, known, readSecret, ...way }: LoginParts,
): (subject: ProtectedServer) => Promise<ServerAuthorization | undefined> {
  // One for each server: all its connections renew one login once.
  const made = new Map<string, Promise<ServerAuthorization | undefined>>();
  const authorize = async (subject: ProtectedServer) => {
    // Without a place of the operator's there are no logins: none is ever looked for in a working folder.
    if (trustFile === undefined && subject.manifest.auth?.type !== "bearer") return undefined;
    const [{ authorizationOf }, { credentialsFolder, TokenStore }] = await Promise.all([
      import("../mcp/oauth/server_authorization.ts"),
      import("../mcp/oauth/token_store.ts"),
    ]);
    const store = new TokenStore({
      // A token that a manifest names is in no store: without a place, this folder is never asked for.
      folder: credentialsFolder(trustFile ?? "/nowhere/"),
      keepSecret: (name, value) => ["added", "known"].includes(known.add({ value, name, source: "bound" })),
      clock: way.clock,
      digest: way.digest,
    });
    return authorizationOf(subject, {
      ...way,
      store,
      readSecret: (name) => {
        const value = readSecret(name);
        if (value !== undefined) known.add({ value, name, source: "bound" });
        return value;
      },
    });
  };
  return (subject) => {
    const key = JSON.stringify([
      subject.server,
      subject.manifest.url,
      subject.manifest.auth,
      subject.manifest.headers,
    ]);
    const found = made.get(key) ?? authorize(subject);
    made.set(key, found);
    // What failed once is not remembered: the next connection tries again.
    found.catch(() => made.delete(key));
    return found;
  };
}
