/** Who may use the API over a network: whoever shows the token file's token, an issued one, or a JSON Web Token. */
import { ApiFailure } from "../api_failure.ts";
import type { Authenticator } from "../authenticator.ts";
import type { TokenFile } from "../token_file.ts";
import { tokenInvalid } from "../token_file.ts";
import type { JwtAccess } from "./jwt.ts";
import type { TokenDesk } from "./token_desk.ts";

/** The ways in. */
export interface Ways {
  readonly file: TokenFile;
  /** Undefined where the store is shared: it issues no tokens. */
  readonly tokens: TokenDesk | undefined;
  /** Undefined unless the operator has configured it. */
  readonly jwt: JwtAccess | undefined;
}

/** Tries one way after another. Whoever none of them knows is told the same by all. */
export function createAccess({ file, tokens, jwt }: Ways): Authenticator {
  return {
    authenticate: async (head) => {
      for (const way of [file, tokens, jwt]) {
        const found = await way?.authenticate(head);
        if (found !== undefined && !(found instanceof ApiFailure)) return found;
      }
      return tokenInvalid();
    },
    onRefused: (refused) => tokens?.onRefused(refused),
  };
}
