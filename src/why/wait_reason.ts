/** What a session waits for, in one word of a fixed list (CM-114), read off the actors below it. */
import type { TurnWait, WaitReason } from "../../schemas/recovery.ts";
import type { QuestionKind } from "../../schemas/question.ts";
import { type ActorState, wordsCharactersMax } from "./actor_state.ts";

/** What each kind of question is about. Leave one out and this does not compile. */
const ofQuestions: { readonly [K in QuestionKind]: WaitReason } = {
  approval: "policy_gate",
  uncertain: "manual_recovery_required",
  connect: "policy_gate",
  elicitation: "human_interaction",
  sampling: "policy_gate",
};

/** States that wait for something which is none of a person's, by machine. */
const ofStates: { readonly [machine: string]: { readonly [state: string]: WaitReason } } = {
  turn: { waiting: "retryable_failure" },
  invocation: { backingOff: "retryable_failure", needsOperator: "manual_recovery_required" },
  connection: { backoff: "external_dependency_blocked", quarantined: "agent_unavailable" },
  catalog: { gathering: "external_dependency_blocked" },
  session: { closing: "subagent_barrier" },
  task: { working: "subagent_barrier", closing: "subagent_barrier" },
};

/** What an actor tells of itself that decides about the word. */
export interface Standing {
  readonly machine: string;
  readonly state: string;
  readonly wait: TurnWait | undefined;
  /** Of a question, what kind it is of. */
  readonly question: QuestionKind | undefined;
}

/** The word for what an actor waits for itself; undefined if it works, rests, or waits for those below it. */
export function reasonOf({ machine, state, wait, question }: Standing): WaitReason | undefined {
  if (wait !== undefined) return wait.reason;
  if (machine === "question") return question === undefined ? undefined : ofQuestions[question];
  const states = Object.hasOwn(ofStates, machine) ? ofStates[machine] : undefined;
  return states !== undefined && Object.hasOwn(states, state) ? states[state] : undefined;
}

/** The words for all that the actors of a root wait for, each once, in the order in which the actors began. */
export function reasonsOf(actors: readonly Pick<ActorState, "reason">[]): readonly WaitReason[] {
  return [...new Set(actors.flatMap(({ reason }) => reason ?? []))];
}

/** A wait after a failure in words, without its time. `address`: of the session, or of an actor below it. */
export function waitText({ kind, strategy, attempt, maximum, lastError }: TurnWait, address: string): string {
  const why = `${kind}: ${lastError.message} [${lastError.code}]`;
  const words = strategy === "automatic"
    ? `its model, retry ${attempt} of ${maximum} comes by itself, after ${why}`
    : `a person, after ${why}: set it right, then troupe resume ${address.split("/")[1] ?? ""}`;
  return words.slice(0, wordsCharactersMax);
}
