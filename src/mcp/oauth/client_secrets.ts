/** The secrets of a client, taken from where its manifest says, at the moment of their use. */
import { failure } from "../../../schemas/failure.ts";
import type { OAuthAuth } from "../../../schemas/mcp_auth.ts";
import { AuthError } from "./auth_error.ts";
import type { ClientSecrets } from "./token_request.ts";

/** The value of a variable of ours, or of a secret of the host. It is a secret from then on. */
export type ReadSecret = (name: string) => string | undefined;

/** Looks up what `${NAME}` stands for. Throws `AuthError` for a name that is not set. */
export function clientSecretsOf(auth: OAuthAuth | undefined, readSecret: ReadSecret): ClientSecrets {
  const valueOf = (reference: string) => {
    const name = reference.slice(2, -1);
    const value = readSecret(name) ?? "";
    if (value !== "") return value;
    const message = `Cannot log in: the manifest names ${name}, which is not set; set it and try again`;
    throw new AuthError({ ...failure("mcp_variable_missing", message), classification: "authorization" });
  };
  return {
    ...(auth?.client_secret === undefined ? {} : { clientSecret: valueOf(auth.client_secret) }),
    ...(auth?.private_key === undefined ? {} : { privateKey: valueOf(auth.private_key) }),
    ...(auth?.signing_algorithm === undefined ? {} : { algorithm: auth.signing_algorithm }),
  };
}
