/** Bounds of tools that ask people, look into the past, and keep skills: part of `limits`. */
export const toolLimits = {
  /** A search in the past (DM-17): its results, the characters of each, and what is read for it at most. */
  historyResultsDefault: 10,
  historyResultsMax: 50,
  historyResultCharactersMax: 800,
  historyQueryCharactersMax: 500,
  historySessionsMax: 1_000,
  historyEntriesMax: 500_000,
  /** A question of an agent to a person: its words, what may be chosen (DM-17), and the words of one choice. */
  clarifyQuestionCharactersMax: 1_000,
  clarifyChoicesMax: 4,
  clarifyChoiceCharactersMax: 200,
  /** Skills of an agent and of its workspace that are looked at; of each, what may be written, and be read. */
  skillsMax: 100,
  skillDescriptionCharactersMax: 1_024,
  skillCharactersMax: 20_000,
  skillBytesMax: 256 * 1_024,
  skillFilesNamedMax: 100,
  /** Calls whose outcome nobody knows that a session remembers, so that the same again waits for a person. */
  doubtsRememberedMax: 64,
} as const;
