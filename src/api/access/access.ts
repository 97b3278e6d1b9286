/** Who may use the API over a network: whoever shows the token file's token, an issued one, or a JSON Web Token. */
import type { JwtConfig } from "../../../schemas/api_config.ts";
import type { Env } from "../../host/home.ts";
import type { OwnerHost } from "../../host/open_host.ts";
import type { Seams } from "../../seams.ts";
import { ApiFailure } from "../api_failure.ts";
import type { Authenticator } from "../authenticator.ts";
import { openTokenFile, tokenInvalid } from "../token_file.ts";

/** What the ways in are made of. */
export interface AccessOptions {
  readonly host: Pick<OwnerHost, "beside" | "openTokens">;
  /** True for a store that several processes write: it issues no tokens. */
  readonly isShared: boolean;
  readonly jwt: JwtConfig | undefined;
  readonly env: Env;
  readonly seams: Pick<Seams, "clock" | "digest">;
}

/** All ways in, and where the first token is. */
export interface Access extends Authenticator {
  /** Path of the token file. */
  readonly path: string;
}

/** Opens the ways in; they are tried one after another. Whoever none of them knows is told the same by all. */
export async function openAccess({ host, isShared, jwt, env, seams }: AccessOptions): Promise<Access> {
  const file = await openTokenFile(host.beside, seams.digest);
  const tokens = isShared ? undefined : await host.openTokens();
  const byJwt = jwt && await (await import("./jwt.ts")).openJwtAccess(jwt, env, seams.clock);
  return {
    path: file.path,
    authenticate: async (head) => {
      for (const way of [file, tokens, byJwt]) {
        const found = await way?.authenticate(head);
        if (found !== undefined && !(found instanceof ApiFailure)) return found;
      }
      return tokenInvalid();
    },
    onRefused: (refused) => tokens?.onRefused(refused),
  };
}
