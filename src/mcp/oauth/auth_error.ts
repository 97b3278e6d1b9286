/** What a login ends with when it brings no token: a failure with a stable code and one line that says what to do. */
import { type Failure, failure, type FailureCode, retryableFailure } from "../../../schemas/failure.ts";

/** A login, or the use of one, that did not succeed. Its message shows no token. */
export class AuthError extends Error {
  override readonly name = "AuthError";
  readonly failure: Failure;
  /** What the authorization server called it, for example `invalid_grant`. */
  readonly reason: string | undefined;

  constructor(
    failed: Failure,
    { reason, cause }: { readonly reason?: string; readonly cause?: unknown } = {},
  ) {
    super(failed.message, cause === undefined ? undefined : { cause });
    this.failure = failed;
    this.reason = reason;
  }

  get code(): FailureCode {
    return this.failure.code;
  }
}

/** Nothing helps but another login or another configuration. */
export function authFailed(message: string, reason?: string): AuthError {
  return new AuthError({ ...failure("mcp_auth_failed", message), classification: "authorization" }, {
    ...(reason === undefined ? {} : { reason }),
  });
}

/** The authorization server could not be asked, or did not answer. */
export function authUnavailable(message: string, cause?: unknown): AuthError {
  const failed = retryableFailure("mcp_auth_unavailable", message);
  return new AuthError({ ...failed, classification: "authorization" }, { cause });
}

/** A person has to log in. Names the command that does it. */
export function authRequired(server: string, why: string): AuthError {
  const message = `The server "${server}" needs a login${why}: run troupe mcp auth ${server}`;
  return new AuthError({ ...failure("mcp_auth_required", message), classification: "authorization" });
}

/** The login has too few rights. Names the command that asks for more. */
export function scopeInsufficient(server: string, scopes: readonly string[]): AuthError {
  const named = scopes.length === 0 ? "" : ` (${scopes.join(" ").slice(0, 500)})`;
  const message = `The server "${server}" asks for more rights than its login has${named}: ` +
    `run troupe mcp auth ${server}`;
  return new AuthError({ ...failure("mcp_scope_insufficient", message), classification: "authorization" });
}

/** The place where logins are kept cannot be used. */
export function credentialsUnusable(message: string, cause?: unknown): AuthError {
  const failed = failure("mcp_credentials_unusable", message);
  return new AuthError({ ...failed, classification: "authorization" }, { cause });
}
