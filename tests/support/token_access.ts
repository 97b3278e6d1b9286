/** The API over real sockets, opened by issued tokens. */
import type { ApiScope } from "../../schemas/api_scope.ts";
import type { JwtConfig } from "../../schemas/api_config.ts";
import type { Principal } from "../../schemas/principal.ts";
import { createAccess } from "../../src/api/access/access.ts";
import { JwtAccess } from "../../src/api/access/jwt.ts";
import { openTokenFile } from "../../src/api/token_file.ts";
import type { IssuedToken } from "../../src/host/host_tokens.ts";
import type { HttpStage, HttpStageOptions } from "./http_stage.ts";

/** Options of a stage whose way in is the one of `troupe serve`. */
export function byTokens(
  jwt?: { readonly config: JwtConfig; readonly variables: { readonly [name: string]: string } },
): Pick<HttpStageOptions, "access"> {
  return {
    access: async (host, { digest, clock }) =>
      createAccess({
        file: await openTokenFile(host.beside, digest),
        tokens: await host.openTokens(),
        jwt: jwt === undefined
          ? undefined
          : await JwtAccess.open(jwt.config, (name) => jwt.variables[name], clock),
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
