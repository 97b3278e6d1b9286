/** Bounds of what is asked of others by URL: part of all bounds, which are compared in `limits.ts`. */
export const httpLimits = {
  urlCharactersMax: 8_192,
  hostNameCharactersMax: 253,
  /** Kinds of decisions about URLs that are told of at once; a server whose requests meet more is odd. */
  urlDecisionsToldMax: 32,
  dnsMs: 5_000,
  dnsAddressesMax: 16,
  httpConnectMs: 10_000,
  /** How long one address has before the next one is tried beside it. Milliseconds. */
  httpNextAddressMs: 250,
  /** From the request's last byte to the end of the answer's head. Milliseconds. */
  httpHeadersMs: 60_000,
  /** How long a body may stand still while somebody waits for it. Milliseconds. */
  httpIdleMs: 60_000,
  httpTotalMs: 600_000,
  httpRedirectsMax: 5,
  httpHeadBytesMax: 64 * 1_024,
  httpHeadersMax: 256,
  httpInformationalMax: 8,
  httpChunkLineBytesMax: 1_024,
  /** Of a body as it is read, and as it came. */
  httpBodyBytesMax: 10 * 1_048_576,
  httpRequestBodyBytesMax: 16 * 1_048_576,
  /** How often larger than it came a body may become; looked at above the bytes of the next line. */
  httpInflationMax: 100,
  httpInflationFreeBytes: 1_048_576,
  /** What is given to the decoder at once: it makes at most a thousand times as much of it. */
  httpDecodeSliceBytes: 4_096,
  httpReadBytes: 65_536,
  httpExchangesAtOnceMax: 256,
  httpIdlePerOriginMax: 32,
  /** Shorter than the five seconds after which common servers close. Milliseconds. */
  httpKeepMs: 4_000,
} as const;
