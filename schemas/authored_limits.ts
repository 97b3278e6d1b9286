/** Bounds of authored tools: part of `limits`. */
export const authoredLimits = {
  /** Tool files of one agent, and the bytes of each. */
  toolFilesPerAgentMax: 64,
  toolSourceBytesMax: 256 * 1_024,
  /** What the process of one call may use: V8's heap, all its data, and time of the processor. */
  jailHeapMegabytesMax: 96,
  jailDataKibibytesMax: 600_000,
  jailCpuMsMax: 10_000,
  /** The same for a tool that is asked what it is. */
  jailDescribeCpuMsMax: 2_000,
  /** How often the time of the processor is looked at. Milliseconds. */
  jailCpuLookMs: 100,
  /** How long a tool may take to say what it is, the start of its process included. Milliseconds. */
  jailDescribeMsMax: 20_000,
  /** One message of a tool: its result, or what it wants of a door. */
  jailFrameBytesMax: 8 * 1_048_576,
  /** Uses of doors by one call, and at once. */
  doorUsesPerCallMax: 1_000,
  doorUsesAtOnceMax: 16,
  /** Words of a tool's own error that are told. */
  toolErrorCharactersMax: 1_000,
  /** The file of one trusted tool. */
  trustedToolBytesMax: 512 * 1_024,
} as const;
