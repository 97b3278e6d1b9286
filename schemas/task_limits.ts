/** Bounds of background tasks: part of all bounds, which are compared in `limits.ts`. */
export const taskLimits = {
  /** Tasks of one session that have not ended: what would be more is refused. */
  tasksOpenMax: 64,
  /** Tasks that one list tells the model of. */
  tasksListedMax: 50,
  /** Tasks of one kind that run at once in one session; the others wait (DM-126). */
  commandsRunningMax: 8,
  agentsRunningMax: 2,
  evolversRunningMax: 1,
  /** Most that an agent may ask for in place of `agentsRunningMax`. */
  agentsRunningAllowedMax: 16,
  /** Child agents that one turn may begin, and the most that an agent may ask for (DM-126). */
  agentsPerTurnDefault: 4,
  agentsPerTurnMax: 64,
  /** Messages of a fork's parent that a child is told of (DM-126). */
  forkMessagesMax: 12,
  /** What is kept of a child's answer beside its session, and a message to it. */
  childAnswerCharactersMax: 8_000,
  childMessageCharactersMax: 20_000,
  /** Messages that wait until a child may go on. */
  childMessagesWaitingMax: 16,
  childToolsMax: 256,
  childSlotsMax: 32,
  childSlotCharactersMax: 64,
  /** How long a child may take to end by itself, and once it is told to stop. Milliseconds. */
  childGraceMs: 30_000,
  childForceMs: 60_000,
  /** Members of a group of children that is waited for (GA-53). */
  agentGroupMembersMin: 2,
  agentGroupMembersMax: 16,
  /** How a task went, in a sentence for the model (DM-116). */
  taskSummaryCharactersMax: 1_200,
  taskTitleCharactersMax: 200,
  taskScopeCharactersMax: 8_192,
  /** The end of a task's log that is shown (DM-120). */
  taskTailLinesMax: 40,
  taskTailCharactersMax: 8_000,
  /** Of the same, what is kept with the task's record: as JSON text, in bytes. And what is read of it at once. */
  taskTailBytesMax: 24 * 1_024,
  taskChunkCharactersMax: 8_192,
  /** The end of a command's output that its summary shows the model (LC-28). */
  taskPreviewCharactersMax: 500,
  /** Time of a command in the background: unless it asks for more (LC-28), and at most. Milliseconds. */
  backgroundMsDefault: 300_000,
  backgroundMsMax: 86_400_000,
  /** How long a detached one may write nothing, unless it says otherwise. Milliseconds. */
  detachedIdleMsDefault: 900_000,
  /** How long work that nobody wants any more may take to end: its end is waited for, whatever it is. Milliseconds. */
  taskEndingMsMax: 90_000,
  /** How long `yield_until` waits (DM-121). Milliseconds. */
  yieldMsDefault: 30_000,
  yieldMsMax: 300_000,
  /** Endings that wait to be told to the model; the oldest are told no more, and noted. */
  taskNoticesMax: 256,
  /** A name in the path of a child agent. */
  agentNameShownCharactersMax: 60,
  /** Tools that are named of those about which nobody could be asked. */
  unaskedToolsNamedMax: 8,
} as const;
