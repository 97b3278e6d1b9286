/** Limits of tokens, and of what is written about those who have none. */
export const accessLimits = {
  /** Tokens that open, at once. */
  tokensMax: 256,
  /** How long a token that opens nothing any more is still listed, in milliseconds: 30 days. The journal has it for ever. */
  endedTokensMs: 2_592_000_000,
  /** How long the old token still opens after a rotation, in milliseconds: 24 h. */
  rotationOverlapMs: 86_400_000,
  /** Longest life of a token, in milliseconds: 10 years. */
  tokenLifeMsMax: 315_360_000_000,
  /** How exactly the last use of a token is written, in milliseconds. */
  usedEveryMs: 3_600_000,
  /** Time whose refusals make one entry, in milliseconds. */
  refusalsEveryMs: 60_000,
  /** Refusals that one entry names: peer, reason and who. All others are counted together. */
  refusalsNamedMax: 32,
  /** Characters of a JSON Web Token. */
  jwtCharactersMax: 8_192,
  /** Bytes of the secret of HS256: as long as its hash (RFC 7518, 3.2). */
  jwtSecretBytesMin: 32,
  /** By how much the clocks of an issuer and of this host may differ, in seconds. */
  jwtClockSkewSeconds: 30,
  /** Time after which a stream whose token does not hold any more is broken, if nobody reads the end, in milliseconds. */
  revokedStreamMs: 500,
} as const;
