/** The pure rules about an answer that was cut off at its length: the model goes on with it, a few times (LC-30). */
import type { PortDone } from "../schemas/effect.ts";
import { limits } from "../schemas/limits.ts";
import type { ModelAnswer } from "../schemas/model.ts";
import type { TurnContext } from "./turn_context.ts";

function answerIn(done: PortDone): ModelAnswer {
  return done.value as unknown as ModelAnswer;
}

/** True if the model is to go on: what it said is nothing but text, was cut off, and there are rounds left. */
export function isCutOff(context: TurnContext, done: PortDone): boolean {
  const { recovery, cutOff, step, roundsMax } = context;
  if (recovery === undefined || step + 1 >= roundsMax) return false;
  if ((cutOff?.answers.length ?? 0) >= limits.truncationsMax) return false;
  const { finishReason, calls, text } = answerIn(done);
  return finishReason === "length" && calls.length === 0 && text !== "";
}

/** The next step: the model is asked to go on, and what it says then belongs to what it said. */
export function goOn(context: TurnContext, done: PortDone): Partial<TurnContext> {
  const { cutOff, step } = context;
  const answers = [...cutOff?.answers ?? [], done.intent];
  return {
    step: step + 1,
    append: [...context.notices ?? [], { type: "continuation" }],
    notices: [],
    cutOff: { answers, text: `${cutOff?.text ?? ""}${answerIn(done).text}` },
    continuation: { reason: "max_tokens_recovery", parts: answers },
  };
}

/** The whole text of an answer, with what came of it before it was cut off. */
export function wholeText({ cutOff }: TurnContext, done: PortDone): string {
  return `${cutOff?.text ?? ""}${answerIn(done).text}`;
}
