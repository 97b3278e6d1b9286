import { authoredLimits } from "./authored_limits.ts";
import { budgetLimits } from "./budget_limits.ts";
import { commandLimits } from "./command_limits.ts";
import { fixtureLimits } from "./fixture_limits.ts";
import { httpLimits } from "./http_limits.ts";
import { modelLimits } from "./model_limits.ts";
import { oauthLimits } from "./oauth_limits.ts";
import { recoveryLimits } from "./recovery_limits.ts";
import { roundLimits } from "./round_limits.ts";
import { scheduleLimits } from "./schedule_limits.ts";
import { storeCallerLimits } from "./store_limits.ts";
import { taskLimits } from "./task_limits.ts";
import { toolLimits } from "./tool_limits.ts";

/** Every bound of the runtime, with its unit in its name, so that they can be compared in one place. */
export const limits = {
  /** Attempts of one `idempotent` call, the first included. */
  attemptsIdempotentMax: 5,
  /** Attempts of one `conditional` call, the first included. */
  attemptsConditionalMax: 3,
  backoffFirstMs: 500,
  backoffMsMax: 30_000,
  /** The longest wait that the other side may ask for; who asks for more is not asked again. Milliseconds. */
  retryAfterMsMax: 60_000,
  /** The longest wait that is written down. Milliseconds. */
  retryAfterToldMsMax: 86_400_000,
  modelFallbacksMax: 4,

  jsonDepthMax: 64,
  jsonNodesMax: 100_000,
  jsonBytesMax: 8 * 1_048_576,
  yamlBytesMax: 1_048_576,
  yamlDepthMax: 32,

  idBytesMax: 128,
  commandKeyBytesMax: 256,
  promptCharactersMax: 200_000,
  promptsQueuedMax: 16,
  /** Commands that wait for one connection: all are answered in one step, which may hand over only so much (K8). */
  connectionCommandsMax: 256,
  noticesMax: 32,
  /** Cancels of one session that wait for what they stop. */
  cancelsWaitingMax: 64,

  mailboxMessagesMax: 1_000,
  crankAsksMax: 1_000,
  machineIterationsMax: 1_000,
  /** Events that actors of one root tell each other because of one message. */
  crankEventsMax: 1_000,
  childrenMax: 100,

  modelCallsPerAnswerMax: 64,
  unitBytesMax: 256 * 1_024,
  unitsUnwrittenMax: 1_000,
  /** How long a unit that nobody waits for may wait for company before its flush. Milliseconds. */
  writerLingerMs: 10,
  entryBodyBytesMax: 4_096,
  inlineValueBytesMax: 49_152,
  blobChunkBytes: 60_000,
  packedValueBytesMax: 60_000,
  groupEntriesMax: 400,
  groupBytesMax: 600 * 1_024,
  groupMutationsMax: 900,
  snapshotEveryEntries: 256,

  roundsPerTurnDefault: 64,
  roundsPerTurnMax: 90,
  cancelGraceMs: 5_000,
  /** Calls begun early whose keys are remembered for later attempts. */
  earlyCallsNotedMax: 1_024,
  reasksAtOnceMax: 8,
  reaskJitterMs: 50,
  recoveryAttemptsMax: 3,
  /** Roots that are read from the store and brought up at once. */
  wakesAtOnceMax: 32,

  questionOpenMs: 3_600_000,
  /** New questions of one session within the window; what would ask more is refused (B28). */
  questionsPerWindowMax: 20,
  questionWindowMs: 300_000,
  /** How long an answer for the whole session counts (DM-36). Milliseconds. */
  grantMs: 8 * 3_600_000,
  /** Answers for the whole session that are kept; the oldest are forgotten, and asked for again. */
  grantsMax: 100,
  /** Longest text that is shown of what is approved: what is longer is not approvable (B18). */
  approvalCharactersMax: 65_536,
  /** Refusals in one turn after which the agent is told that it seems stuck (LC-21). */
  refusalsStuck: 3,
  previewDepthMax: 6,
  previewItemsMax: 50,
  previewStringCharactersMax: 500,
  /** Of these, the end of a string that is cut. */
  previewTailCharacters: 120,
  previewCharactersMax: 2_048,
  callPreviewCharactersMax: 500,

  restartsMax: 3,
  restartPeriodMs: 60_000,
  restartBackoffFirstMs: 200,
  restartBackoffMsMax: 30_000,
  stopGraceMs: 5_000,

  modelCallDurationMs: 120_000,
  toolCallDurationMsDefault: 30_000,
  toolCallDurationMsMax: 600_000,
  toolOutputCharactersMax: 12_000,
  resultCharactersMax: 16 * 1_048_576,
  resultPageCharactersMax: 10_000,
  /** What the tools of a session keep together, as JSON; and what one call may change of it. */
  sessionStateBytesMax: 64 * 1_024,
  stateChangeBytesMax: 16 * 1_024,
  stateChangesMax: 100,
  todoItemsMax: 100,
  todoTextCharactersMax: 500,
  /** Marks of one result of which the journal knows the secret's name; those behind them stay bare. */
  resultMarksMax: 100,
  /** Whole results that a conversation knows by their digest; the oldest are forgotten. */
  resultsNotedMax: 1_000,
  readFileCharactersDefault: 20_000,
  fileBytesMax: 10 * 1_048_576,
  ...authoredLimits,
  ...toolLimits,
  /** A page of the web: how long it may take, what is read of it, and how it may be built. */
  webMsDefault: 20_000,
  webMsMax: 60_000,
  webBodyBytesMax: 2 * 1_048_576,
  pageReadMs: 10_000,
  pageDepthMax: 100,
  pageElementsMax: 20_000,
  editsPerPatchMax: 50,
  searchResultsMax: 50,
  listEntriesMax: 500,
  walkEntriesMax: 20_000,
  pathCharactersMax: 4_096,
  mcpEndpointCharactersMax: 512,
  pathComponentsMax: 256,
  regexCharactersMax: 512,

  toolsPerCatalogMax: 1_024,
  /** How deep agents may have children: the root has depth 0. */
  agentDepthMax: 16,
  agentDepthDefault: 2,
  implementationsPerToolMax: 16,
  /** Text of sealed entries whose hashes are remembered. */
  sealedTextCharactersMax: 8_000_000,
  /** Tools that a model is told of in one step, and what telling of them takes, unless the agent says otherwise. */
  toolsExposedDefault: 40,
  exposedCharactersDefault: 32_000,
  /** How much of a prompt, a query or a description is looked at for words. */
  exposureTextCharactersMax: 20_000,
  /** Tools that one query of `tools_list` finds. */
  toolsFoundMax: 20,
  /** Names of called tools that a conversation knows; the oldest are forgotten. */
  toolsCalledNotedMax: 256,
  programsMax: 64,
  providerNameCharactersMax: 64,
  toolNameCharactersMax: 128,

  mcpServersPerSessionMax: 32,
  /** Servers that are being started at once, over all sessions (DM-57). */
  mcpConnectsAtOnceMax: 4,
  /** Servers by package runners that are being started at once: they write to one cache. */
  mcpPackageRunnersAtOnceMax: 1,
  mcpConnectMs: 30_000,
  /** The first start by a package runner, which may have to fetch the package. Milliseconds. */
  mcpFirstPackageConnectMs: 120_000,
  /** How long a failed server is not tried again: whoever asks gets the same failure (DM-58). Milliseconds. */
  mcpFailureHoldMs: 30_000,
  /** The longest that a server which failed again and again is not tried, unless it asks for longer. Milliseconds. */
  mcpFailureHoldMsMax: 60_000,
  /** How long a declaration that cannot work is not tried again unless it changes. Milliseconds. */
  mcpConfigurationHoldMs: 600_000,
  /** How often a server may end by itself within the window before it is started no more. */
  mcpCrashesMax: 5,
  mcpCrashWindowMs: 300_000,
  /** How long a server must have lived, and served a call, for its earlier ends to be forgotten. Milliseconds. */
  mcpHealthyMs: 60_000,
  /** How long a server without a call is kept. Milliseconds. */
  mcpIdleParkMs: 900_000,
  /** How long calls in flight are waited for before their server is ended; and when the runtime stops. Milliseconds. */
  mcpDrainMs: 10_000,
  mcpFarewellDrainMs: 1_000,
  /** How long a server by HTTP may take to show that it is of the modern era, before the other one is tried. */
  mcpProbeMs: 5_000,
  /** How long it is remembered what a server was found to be. */
  mcpEraAgeMs: 86_400_000,
  mcpErasRememberedMax: 1_000,
  mcpListMs: 30_000,
  /** How long a server's tools are taken for what they were when they were listed. Milliseconds. */
  mcpListAgeMs: 900_000,
  /** How long a list counts at most, whatever its server says. */
  mcpListTtlMsMax: 86_400_000,
  /** How often at most a list is looked at again whose changes nobody tells of. */
  mcpListPollMs: 300_000,
  /** Tools of a list that are read in one go. */
  mcpToolsReadAtOnceMax: 50,
  mcpListPageMs: 10_000,
  mcpListPagesMax: 64,
  mcpListBytesMax: 4 * 1_048_576,
  /** How long a stopping runtime waits for its servers to end in order. */
  mcpFarewellMs: 5_000,
  mcpRejectedNotedMax: 100,
  mcpMessageBytesMax: 16 * 1_048_576,
  /** Lines of a server that are no messages: of so many people are told, and more within the window are a fault. */
  mcpNoiseLinesToldMax: 10,
  mcpNoiseLinesMax: 100,
  mcpNoiseWindowMs: 60_000,
  /** Of one answer that comes as a stream of events: bytes and events, then what it should bring is in doubt (B94). */
  mcpStreamBytesMax: 64 * 1_048_576,
  mcpStreamEventsMax: 10_000,
  /** Of the one stream of a session of 2024-11-05: bytes, events, milliseconds; then the session begins anew. */
  mcpSseStreamBytesMax: 1_024 * 1_048_576,
  mcpSseEventsMax: 1_000_000,
  mcpSseStreamMs: 86_400_000,
  mcpEventIdCharactersMax: 1_024,
  /** Of each part of what a server answered to `initialize`, as it is kept. */
  mcpInitializedCharactersMax: 1_024,
  mcpSessionIdCharactersMax: 1_024,
  /** Of our own servers by HTTP: sessions at once, how long one may be left alone, and the bytes of one message. */
  mcpServedSessionsMax: 256,
  mcpServedIdleMs: 1_800_000,
  mcpServedBodyBytesMax: 4 * 1_048_576,
  /** How long a server is given to end a session that we give back. Milliseconds. */
  mcpDeleteMs: 2_000,
  /** Waits before a broken stream is opened again: at first, unless the server says so, and at most. Milliseconds. */
  mcpReopenMs: 1_000,
  mcpReopenMsMax: 60_000,
  /** Of the end of what a server wrote to its standard error, when it ended. */
  mcpStderrCharactersMax: 12_000,
  /** Of the private log of servers' standard error; what is older goes to one file beside it, and then away. */
  mcpLogFileBytesMax: 4 * 1_048_576,
  mcpSchemaBytesMax: 64 * 1_024,
  /** Tools that are approved at most of one declaration, over all that its server ever showed. */
  mcpPinsMax: 4_096,
  mcpPinsBytesMax: 32 * 1_048_576,
  mcpDescriptionCharactersMax: 4_096,
  /** Resources, templates or prompts of one page that a model is told of; of the rest only the number is given. */
  mcpOfferedItemsMax: 1_000,
  mcpOfferedDescriptionCharactersMax: 500,
  /** Address of a resource, and a cursor of a list. */
  mcpUriCharactersMax: 8_192,
  mcpCursorCharactersMax: 4_096,
  /** Resources that one session is subscribed to, over all its servers. */
  mcpSubscriptionsMax: 32,
  mcpSubscribedUriCharactersMax: 1_024,
  /** How long updates of resources wait for others, and how often a session is told of them at most. Milliseconds. */
  mcpUpdateWaitMs: 300,
  mcpUpdateEveryMs: 5_000,
  mcpPromptArgumentsMax: 100,
  mcpCompletionsMax: 100,
  /** Pieces of one result that are no text and are kept beside it; of the rest only the size is given. */
  mcpAttachmentsMax: 50,
  /** Messages of a server's log that are shown in one call; the rest goes to the log of the server. */
  mcpLogShownMax: 1_000,
  /** How long a call may be silent: progress makes it begin anew. Milliseconds. */
  mcpCallIdleMs: 60_000,
  /** How often a task is looked at: unless its server says so, and what it may ask for. Milliseconds. */
  mcpTaskPollMs: 1_000,
  mcpTaskPollMsMin: 500,
  mcpTaskPollMsMax: 60_000,
  /** How long a server is asked to keep a task: its end must be there still after a restart of ours. Milliseconds. */
  mcpTaskKeptMs: 3_600_000,
  /** How long one look may be silent; a task whose deadline is over is looked at once more for as long. Milliseconds. */
  mcpTaskLookMs: 10_000,
  /** Looks in a row that the server answers with what is no state, until the task is given up. */
  mcpTaskMissesMax: 5,
  /** How long a task that nobody wants any more may say how it ended: less than `cancelGraceMs`. Milliseconds. */
  mcpTaskFarewellMs: 4_000,
  mcpTaskIdCharactersMax: 1_024,
  mcpTaskMessageCharactersMax: 500,
  ...roundLimits,
  ...oauthLimits,
  ...recoveryLimits,
  ...budgetLimits,
  ...commandLimits,
  ...taskLimits,
  ...fixtureLimits,

  ...scheduleLimits,
  ...storeCallerLimits,

  ...httpLimits,
  ...modelLimits,

  doorLineBytesMax: 8 * 1_048_576,
  doorConnectionsMax: 64,
  watchEventsBufferedMax: 1_000,
} as const;
