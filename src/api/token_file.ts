/** The simplest authenticator: one token, in a file beside the store that its owner alone can read. */
import { ApiScope } from "../../schemas/api_scope.ts";
import { localOperator } from "../../schemas/principal.ts";
import { createApiToken, isSameToken } from "../door/token.ts";
import { realStorePath } from "../journal/store_file.ts";
import { replaceFile } from "../host/replace_file.ts";
import type { Seams } from "../seams.ts";
import { ApiFailure } from "./api_failure.ts";
import type { Authenticator } from "./authenticator.ts";

/** The token of a header `Authorization`; empty if it holds none. */
export function bearerOf(authorization: string | undefined): string {
  return /^Bearer +([^ ]+)$/i.exec(authorization ?? "")?.[1] ?? "";
}

/** The one refusal of whoever shows no token, or another one. */
export function tokenInvalid(): ApiFailure {
  return new ApiFailure("token_invalid", "This needs a token: send it as Authorization: Bearer TOKEN");
}

/** A file with a token. */
export interface TokenFile extends Authenticator {
  readonly path: string;
  readonly token: string;
}

/** Files of earlier releases hold the bits alone. */
const tokenPattern = /^(?:tr_[0-9a-f]{68}|[0-9a-f]{64})\n?$/;

/**
 * Reads the token of the store at `location`, `<store>.token`; makes it if there is none. Refuses a file that others may
 * read. The caller holds the store's lock. Whoever shows the token is the operator: the file says that it may be.
 */
export async function openTokenFile(location: string, digest: Seams["digest"]): Promise<TokenFile> {
  const path = `${await realStorePath(location)}.token`;
  const token = await readOrMake(path);
  const caller = {
    principal: localOperator,
    scopes: new Set(ApiScope.options.filter((scope) => scope !== "admin")),
  };
  return {
    path,
    token,
    authenticate: async ({ authorization }) => {
      return await isSameToken(bearerOf(authorization), token, digest) ? caller : tokenInvalid();
    },
  };
}

async function readOrMake(path: string): Promise<string> {
  try {
    const { mode } = await Deno.stat(path);
    if (((mode ?? 0) & 0o077) !== 0) {
      throw new ApiFailure(
        "token_file_unsafe",
        `Others may read "${path}": remove it, and a new one is made`,
      );
    }
    const text = await Deno.readTextFile(path);
    if (tokenPattern.test(text)) return text.trim();
    throw new ApiFailure("token_file_invalid", `"${path}" holds no token: remove it, and a new one is made`);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  const token = await createApiToken();
  await replaceFile(path, new TextEncoder().encode(`${token}\n`));
  return token;
}
