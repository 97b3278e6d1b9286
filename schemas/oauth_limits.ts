/** Bounds of logins at MCP servers: part of all bounds, which are compared in `limits.ts`. */
export const oauthLimits = {
  /** One request of a login: metadata, registration, tokens. Milliseconds. */
  oauthRequestMs: 10_000,
  oauthAnswerBytesMax: 256 * 1_024,
  oauthRedirectsMax: 3,
  /** How long a person may take in the browser. Milliseconds. */
  oauthCallbackMs: 300_000,
  /** Requests to the page that the browser comes back to, until the login is given up. */
  oauthCallbackRequestsMax: 100,
  /** How long before its end a token is renewed; shorter lives are halved. Milliseconds. */
  oauthRefreshAheadMs: 60_000,
  /** How long an authorization server that did not answer is not asked again. Milliseconds. */
  oauthFailureHoldMs: 5_000,
  /** How long another process is waited for that renews the same token. Milliseconds. */
  oauthLockMs: 30_000,
  oauthLockPollMs: 50,
  oauthScopesMax: 64,
  oauthScopeCharactersMax: 256,
  /** What the redactor can look for. */
  oauthTokenCharactersMax: 8_192,
  oauthCredentialsMax: 256,
  oauthRecordBytesMax: 64 * 1_024,
  oauthEndpointsMax: 32,
  oauthChallengeCharactersMax: 8_192,
} as const;
