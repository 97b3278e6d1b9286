/** All bounds of redaction: what is looked for, how deep it is looked, what is held back (DM-52). */

/** Defaults; a redactor may be given others for the size of values. */
export const redactBounds = {
  /** A shorter value is refused: to mask it would ruin every text. */
  secretCharactersMin: 8,
  /** Bits of a character, by how often each stands in the value itself: spaces or `aaaaaaaa` are no secret. */
  secretBitsMin: 2.5,
  secretCharactersMax: 8_192,
  secretsMax: 1_000,
  /** Characters of all forms of all secrets; about 40 bytes of memory each. */
  formCharactersMax: 2_000_000,
  formCharactersMin: 6,
  /** The beginning of a secret at the end of a stream is masked from this length on. */
  partialCharactersMin: 5,

  depthMax: 8,
  itemsMax: 100,
  stringCharactersMax: 1_000_000,
  discoveryDepthMax: 12,
  discoveryItemsMax: 500,
  exceptionCharactersMax: 500,
  exceptionCausesMax: 5,
  /** Values in one JSON value, counted each time that they are met. */
  nodesMax: 100_000,
  /** Characters in all strings and keys of one JSON value. */
  totalCharactersMax: 16 * 1_048_576,
  /** How often a result is looked at again until nothing changes. */
  roundsMax: 6,

  /** Most that a stream holds back for something that has begun and may be a secret. */
  heldCharactersMax: 16_384,
  nameCharactersMax: 64,
  sourceCharactersMax: 200,
} as const;

/** Bounds of the values that a redactor looks through. */
export interface ValueBounds {
  /** Arrays and objects inside each other. */
  readonly depthMax: number;
  /** Items of one array, fields of one object. */
  readonly itemsMax: number;
  /** Characters of one string. */
  readonly stringCharactersMax: number;
}
