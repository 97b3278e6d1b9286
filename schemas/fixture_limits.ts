/** Bounds of fixtures: part of all bounds, which are compared in `limits.ts`. */
export const fixtureLimits = {
  /** What one fixture holds in all: it is made for a repository. */
  fixtureBytesMax: 16 * 1_048_576,
  fixtureEntriesMax: 100_000,
  /** Streams of one fixture: a session and those that serve it. */
  fixtureRootsMax: 256,
  fixtureBlobsMax: 4_096,
  /** Fixtures that one command looks at. */
  fixturesPerRunMax: 10_000,
} as const;
