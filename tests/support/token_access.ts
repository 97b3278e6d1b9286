/** The API over real sockets, opened by issued tokens. */
import type { ApiScope } from "../../schemas/api_scope.ts";
import type { JwtConfig } from "../../schemas/api_config.ts";
import type { Principal } from "../../schemas/principal.ts";
import { openAccess } from "../../src/api/access/access.ts";
import type { IssuedToken } from "../../src/host/host_tokens.ts";
import type { HttpStage, HttpStageOptions } from "./http_stage.ts";

/** Options of a stage whose way in is the one of `troupe serve`. */
export function byTokens(
  jwt?: { readonly config: JwtConfig; readonly variables: { readonly [name: string]: string } },
): Pick<HttpStageOptions, "access"> {
  return {
    access: (host, seams) =>
      openAccess({
        host,
        isShared: false,
        jwt: jwt?.config,
        env: (name) => jwt?.variables[name],
        seams,
      }),
  };
}

/** Rights of most programs. */
export const someScopes: readonly ApiScope[] = ["sessions:read", "sessions:write", "log:read"];

/** Issues a token that does not expire. */
export function issue(
  { host }: HttpStage,
  id: string,
  { kind = "program", scopes = someScopes }: {
    readonly kind?: Principal["kind"];
    readonly scopes?: readonly ApiScope[];
  } = {},
): Promise<IssuedToken> {
  return host.issueToken({ principal: { kind, id }, scopes, expiresAt: null });
}
