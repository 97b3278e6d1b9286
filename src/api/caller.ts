/** Who asks by the API, as the carrier has made sure of. */
import type { ApiScope } from "../../schemas/api_scope.ts";
import type { Principal } from "../../schemas/principal.ts";

/** Who asks, and with which rights. Built by the carrier from the record of a token, never from what a request says. */
export interface Caller {
  readonly principal: Principal;
  readonly scopes: ReadonlySet<ApiScope>;
  /** Aborts once the token does not hold any more: what is still being answered ends then. */
  readonly ended?: AbortSignal | undefined;
  /** When it ends by itself, in milliseconds since the epoch, if nothing else tells. */
  readonly untilMs?: number | undefined;
  /** The connection whose end tells that the program is gone; without one, its heartbeat tells. */
  readonly connection?: string | undefined;
}

/** True if a caller sees everything of the store: the operator, and who has the right `admin`. */
export function seesAll({ principal, scopes }: Caller): boolean {
  return principal.kind === "operator" || scopes.has("admin");
}
