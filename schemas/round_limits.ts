/** Bounds of what a server may want during a call: part of `limits`. */
export const roundLimits = {
  /** How often a server may want something first within one call; and how much at once (B98). */
  mcpRoundsMax: 5,
  mcpRequestsAtOnceMax: 4,
  mcpRequestStateBytesMax: 64 * 1_024,
  mcpRequestKeyCharactersMax: 200,
  mcpRequestToldCharactersMax: 300,
  /** What a server may put into one question to a person. */
  formFieldsMax: 32,
  formOptionsMax: 100,
  formNameCharactersMax: 100,
  formWordsCharactersMax: 500,
  formTextCharactersMax: 4_000,
  formMessageCharactersMax: 4_000,
  formUrlCharactersMax: 2_000,
  formBytesMax: 32 * 1_024,
  /** Texts that a server wants the session's model to answer, the answer, and how often within one call. */
  sampleMessagesMax: 64,
  sampleCharactersMax: 32 * 1_024,
  sampleRequestsMax: 20,
} as const;
