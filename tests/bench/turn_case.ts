/** One shape of turn, and what the mock model does in it: the same for ours and for every peer. */

/** `together`: as few model steps as possible. `apart`: one call a step. */
export type Shape = "together" | "apart";

/** What a repeat of a call would do. Peers know no difference. */
export type Effect = "idempotent" | "non_idempotent";

/** One turn: how many calls, in how many steps, of which tool. Travels as the prompt's text. */
export interface TurnCase {
  readonly calls: number;
  readonly shape: Shape;
  readonly effect: Effect;
  /** A turn that the model of the child which fills a store never answers: it is open when the child is killed. */
  readonly isEndless?: boolean;
}

/** Calls of one model answer: the runtime takes no more (`limits.modelCallsPerAnswerMax`). */
const callsPerAnswerMax = 64;

/** Rounds of one turn with calls: the runtime's most is 90, and the last one gives the answer (DM-17). */
export const stepsMax = 89;

/** The names of the tools: a read, and one whose repetition would hurt. */
export const toolNames = { idempotent: "echo", non_idempotent: "post" } as const;

/** The text that every call carries and gets back. */
export const echoedText = "hello";

/** How many model steps with calls a case takes. */
export function stepsOf({ calls, shape }: TurnCase): number {
  return shape === "apart" ? calls : Math.ceil(calls / callsPerAnswerMax);
}

/** How many calls the model makes now, after `done` results: 0 means that it answers. */
export function callsNow(asked: TurnCase, done: number): number {
  return Math.min(asked.calls - done, Math.ceil(asked.calls / stepsOf(asked)));
}

/** A case as a prompt, and back. */
export function promptOf(asked: TurnCase): string {
  return JSON.stringify(asked);
}

/** Reads the case from a prompt's text. */
export function caseIn(prompt: string): TurnCase {
  return JSON.parse(prompt) as TurnCase;
}

/** A case in words. */
export function nameOf({ calls, shape, effect }: TurnCase): string {
  const steps = shape === "apart" ? "one a step" : "together";
  return `${calls} ${calls === 1 ? "call" : "calls"}, ${steps}, ${effect.replace("_", "-")}`;
}
