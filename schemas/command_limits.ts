/** Bounds of child processes and of commands: part of all bounds, which are compared in `limits.ts`. */
export const commandLimits = {
  /** The end of a child process: how long it is waited for after the end of its input, then after TERM. */
  processEofGraceMs: 1_500,
  processTermGraceMs: 1_500,
  /** Enough for the characters that are kept of it, whatever they are. */
  processStderrTailBytesMax: 48_000,
  /** How often a new process is asked when it began, and the pause between. Without an answer it is ended. */
  processMarkTriesMax: 5,
  processMarkPauseMs: 10,
  /** File descriptors that must be free before a process or a thread is started. */
  spareDescriptorsMin: 24,

  /** One argument of a command (B43). */
  commandArgumentBytesMax: 128 * 1_024,
  commandArgumentsMax: 1_000,
  commandTextCharactersMax: 16_384,
  /** Shells, substitutions and wrappers inside each other (DM-92). */
  commandDepthMax: 32,
  /** Simple commands in one text of a shell (B39). */
  commandPartsMax: 50,
  commandFindingsMax: 32,
  commandReviewMs: 30_000,
  commandMsDefault: 30_000,
  commandMsMax: 120_000,
  /** How long a command may go on after TERM; and, after its time is over, what its call has left to end it and say so. */
  commandTermGraceMs: 250,
  commandEndingMs: 10_000,
  /** Of each of its two outputs: what is read at once, the end that is told, and the whole that is kept. */
  commandChunkBytes: 8_192,
  commandTailCharactersMax: 12_000,
  commandArtifactBytesMax: 64 * 1_048_576,
  commandVariablesMax: 64,
  commandSecretsMax: 16,
} as const;
