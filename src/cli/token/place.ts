/** Where commands change tokens: at the door of the process that holds the store, or in a runtime of their own. */
import { TokenId, type TokenView } from "../../../schemas/access.ts";
import { principalText } from "../../../schemas/principal.ts";
import type { ActingHost } from "../../host/host.ts";
import type { IssuedToken } from "../../host/host_tokens.ts";
import { readHostSettings, storeLocation } from "../../host/home.ts";
import type { Cli } from "../cli.ts";
import { UsageError } from "../exit.ts";
import { jsonLine } from "../json_line.ts";
import { withSeat } from "../seat.ts";
import { timeText } from "../table.ts";

/** Changes tokens. No schedule becomes due for it, and open questions stay open. */
export async function withTokens<T>(
  cli: Cli,
  store: string | undefined,
  change: (host: ActingHost) => Promise<T>,
): Promise<T> {
  const settings = await readHostSettings(cli.env);
  const acting = {
    location: storeLocation(store, cli.env, settings),
    config: settings.config,
    strict: false,
    isAttended: true,
    holdsSchedules: true,
  };
  return await withSeat(cli, acting, ({ host }) => change(host));
}

/** The id of a token as a person gives it. */
export function readTokenId(text: string | undefined): TokenId {
  const id = TokenId.safeParse(text);
  if (id.success) return id.data;
  throw new UsageError(
    "argument_invalid",
    `ID looks like tok_ and 26 letters or digits: see troupe token list`,
  );
}

/** A token as programs are told of it. */
export function tokenJson({ principal, ...view }: TokenView): { readonly [name: string]: unknown } {
  return { ...view, principal: principalText(principal) };
}

/** Prints a new token: it alone on stdout, so that a script can keep it; what it is on stderr. */
export function showIssued({ terminal: { out, err } }: Cli, issued: IssuedToken, json: boolean): void {
  const { token, secret } = issued;
  if (json) return out.line(jsonLine({ ...tokenJson(token), secret }));
  const { id, principal, scopes, expiresAt } = token;
  const until = expiresAt === null ? "until it is revoked" : `until ${timeText(expiresAt)}`;
  err.line(`${id} for ${principalText(principal)}, ${until}: ${scopes.join(", ")}`);
  err.line("This is the only time that the token is shown:");
  out.line(secret);
}
