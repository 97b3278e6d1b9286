/** What a call yields that has not ended: why it pauses, and with what it goes on (CM-34, DM-16). */
import { z } from "zod";
import { Failure } from "./failure.ts";
import { Form, FormContent } from "./form.ts";
import { Digest, ServerId } from "./ids.ts";
import { limits } from "./limits.ts";
import { Usage } from "./model.ts";

/** The name under which a server knows one of its requests. */
const key = z.string().min(1).max(limits.mcpRequestKeyCharactersMax);

/** What the host decides on requests of a server: a person is asked, or defaults are sent where there are enough. */
export const RequestGate = z.enum(["auto", "prompt"]);
/** What the host decides on requests of a server. */
export type RequestGate = z.infer<typeof RequestGate>;

const sampleText = z.string().max(limits.sampleCharactersMax);

/** What a model is asked in the name of a server. */
export const SampleMessages = z.array(
  z.strictObject({ role: z.enum(["user", "assistant"]), text: sampleText }),
)
  .min(1).max(limits.sampleMessagesMax);

/** What a model answered to a server. */
export const Sample = z.strictObject({
  text: z.string(),
  model: z.string().max(200),
  stopReason: z.enum(["endTurn", "maxTokens"]),
  /** What it cost; a server is not told. */
  usage: Usage.exactOptional(),
});
/** What a model answered to a server. */
export type Sample = z.infer<typeof Sample>;

/** One thing that a server wants before it goes on with a call. */
export const ServerRequest = z.discriminatedUnion("kind", [
  /** A person fills in a form. */
  z.strictObject({
    kind: z.literal("form"),
    key,
    gate: RequestGate,
    message: z.string().max(limits.formMessageCharactersMax),
    fields: Form,
  }),
  /** A person opens a page, which is only ever shown. */
  z.strictObject({
    kind: z.literal("url"),
    key,
    message: z.string().max(limits.formMessageCharactersMax),
    url: z.string().max(limits.formUrlCharactersMax),
  }),
  /** The session's model answers texts of the server, and nothing of the conversation is given to it. */
  z.strictObject({
    kind: z.literal("sampling"),
    key,
    gate: RequestGate,
    system: sampleText.optional(),
    messages: SampleMessages,
    maxOutputTokens: z.int().min(1),
    /** How often the model may be asked within one call. */
    timesMax: z.int().min(1).max(limits.sampleRequestsMax),
  }),
  /** Nobody is asked: what is wanted must not be given, or cannot be shown. */
  z.strictObject({ kind: z.literal("refused"), key, why: Failure }),
]);
/** One thing that a server wants before it goes on with a call. */
export type ServerRequest = z.infer<typeof ServerRequest>;

/**
 * How the next round goes on: `held`, the call is open and waits in memory; `retry`, it is sent once more with the
 * answers and what the server wants back; `repeat`, it is sent once more as it was.
 */
export const RoundKind = z.enum(["held", "retry", "repeat"]);
/** How the next round goes on. */
export type RoundKind = z.infer<typeof RoundKind>;

/** The server wants something first, or the tool itself does. */
export const InputRequired = z.strictObject({
  type: z.literal("input_required"),
  /** Absent if a tool of the runtime asks. */
  server: ServerId.exactOptional(),
  how: RoundKind,
  requests: z.array(ServerRequest).max(limits.mcpRequestsAtOnceMax),
  /** The blob that holds what the server wants back, byte for byte. `memory`: it holds a secret of the host. */
  state: z.union([Digest, z.literal("memory")]).optional(),
});
/** The server wants something first. */
export type InputRequired = z.infer<typeof InputRequired>;

/** The server carries the call out as a task, which is found again by this handle: also by another session. */
export const CallTask = z.strictObject({
  type: z.literal("task"),
  id: z.string().min(1).max(limits.mcpTaskIdCharactersMax),
  /** How its result comes: `asked` for by itself (2025-11-25), or `told` with its state (2026-07-28). */
  result: z.enum(["asked", "told"]),
  /** How often the server wants to be asked. Milliseconds. */
  pollMs: z.int().min(limits.mcpTaskPollMsMin).max(limits.mcpTaskPollMsMax),
  /** Until when the server says that it keeps the task, in milliseconds since the epoch; null if it does not say. */
  keptUntilMs: z.number().nullable(),
  /** What the server said of its state, for people. */
  message: z.string().max(limits.mcpTaskMessageCharactersMax).exactOptional(),
});
/** The server carries the call out as a task. */
export type CallTask = z.infer<typeof CallTask>;

/** Why a call pauses. */
export const CallPause = z.discriminatedUnion("type", [CallTask, InputRequired]);
/** Why a call pauses. */
export type CallPause = z.infer<typeof CallPause>;

/** The value of a call's outcome that is no end: the key tells it from a result. */
export const PausedCall = z.strictObject({ pause: CallPause });
/** The value of an `mcp.call` outcome that is no end. */
export type PausedCall = z.infer<typeof PausedCall>;

/** What a server is told: that it was filled in, that a person says no, or that nobody answers. */
export const RequestAction = z.enum(["accept", "decline", "cancel"]);
/** What a server is told. */
export type RequestAction = z.infer<typeof RequestAction>;

/** The answer to one request of a server. */
export const RequestAnswer = z.strictObject({
  key,
  action: RequestAction,
  content: FormContent.optional(),
  sample: Sample.optional(),
});
/** The answer to one request of a server. */
export type RequestAnswer = z.infer<typeof RequestAnswer>;

/** What the next round of a call is made with. */
export const CallRound = z.strictObject({
  /** From 1: the call itself is round 0. */
  round: z.int().min(1).max(limits.mcpRoundsMax),
  how: RoundKind,
  state: InputRequired.shape.state,
  answers: z.array(RequestAnswer).max(limits.mcpRequestsAtOnceMax),
  /** Nobody wants the call any more: the server is told, and no further question is taken. */
  isLast: z.literal(true).optional(),
  /** What the model is told besides the result: requests that no person answered, one line each. */
  told: z.array(z.string().max(limits.mcpRequestToldCharactersMax)).max(
    limits.mcpRequestsAtOnceMax * limits.mcpRoundsMax,
  ).optional(),
});
/** What the next round of a call is made with. */
export type CallRound = z.infer<typeof CallRound>;
