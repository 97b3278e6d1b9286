/** One actor as it stands: its state, what it waits for, what it may be told. Goes over the door as it is. */
import { z } from "zod";
import { PortKind } from "../../schemas/effect.ts";
import { IntentId, RootAddress } from "../../schemas/ids.ts";
import { TurnWait, WaitReason } from "../../schemas/recovery.ts";
import { EffectClass } from "../../schemas/tool.ts";

/** Lengths in characters: what is longer is cut. */
export const addressCharactersMax = 400;
export const wordsCharactersMax = 500;

const words = z.string().max(wordsCharactersMax);

/** An open port of an actor: something that it asked of the world. */
export const Wait = z.strictObject({
  id: IntentId,
  port: PortKind,
  effect: EffectClass,
  /** What it waits for, and what is done when time is up: for people. */
  words,
  late: words.optional(),
  /** When time is up, in milliseconds since the epoch. */
  untilMs: z.number().optional(),
  /** Where the actor goes from here when the port ends well, and when it does not. */
  to: z.array(z.string()),
  lateTo: z.array(z.string()),
  cancelAsked: z.boolean(),
});
/** An open port of an actor. */
export type Wait = z.infer<typeof Wait>;

/**
 * A message that an actor takes in its state. `to`: where it may go by it. `byItself`: the message only changes what it
 * remembers, and that may make it go there by itself. Empty if it only takes note.
 */
export const Taken = z.strictObject({ message: z.string(), to: z.array(z.string()), byItself: z.boolean() });
/** A message that an actor takes in its state. */
export type Taken = z.infer<typeof Taken>;

/** One actor as it stands. */
export const ActorState = z.strictObject({
  /** A path below its root: `session/ses_…/turn/3/call/0.1`. */
  address: z.string().max(addressCharactersMax),
  /** The id of its machine. */
  machine: z.string().max(100),
  state: z.string().max(100),
  /** True where nothing is under way in it. */
  rests: z.boolean(),
  waits: z.array(Wait),
  /** Other roots whose message it waits for. */
  awaits: z.array(RootAddress),
  /** Of a question: the calls that wait for its answer, as they are called below the root. */
  about: z.array(z.string().max(addressCharactersMax)),
  takes: z.array(Taken),
  /** What it waits for, in one word; absent if it works, rests, or waits for those below it. */
  reason: WaitReason.exactOptional(),
  /** Of a turn whose model failed: what it waits for. */
  wait: TurnWait.exactOptional(),
  /** When what was restarted because of it or by it: of a supervisor, its children; of a connection, its server. */
  restarts: z.array(z.strictObject({ of: RootAddress, atMs: z.number() })),
  /** How long a restart counts, in milliseconds; 0 if this actor restarts nothing. */
  restartPeriodMs: z.number(),
});
/** One actor as it stands. */
export type ActorState = z.infer<typeof ActorState>;

/** A root that is awake in the process that owns the store. */
export interface LiveState {
  /** The root first, then those below it in the order in which they began. */
  readonly actors: readonly ActorState[];
  /** True while its supervisor has not let it go on. */
  readonly isHeld: boolean;
  /** Messages that wait for it. */
  readonly mail: number;
}
