/** Answers that must have a form (`output_schema`): whether one has it, and the one round in which the model may mend it. */
import type { AgentDefinition } from "../schemas/agent.ts";
import type { PortDone } from "../schemas/effect.ts";
import { type Failure, failure } from "../schemas/failure.ts";
import { isJson, type Json, type JsonObject } from "../schemas/json.ts";
import { checkAnswer } from "../schemas/json_schema.ts";
import { limits } from "../schemas/limits.ts";
import type { ModelAnswer } from "../schemas/model.ts";
import type { SessionScope } from "../schemas/profile.ts";
import { profileKeyOf } from "./profile.ts";
import type { TurnContext } from "./turn_context.ts";
import { wholeText } from "./turn_truncated.ts";

/** The form of a session's answers: its profile's, else, of a session that is no child, its agent's. */
export function outputSchemaOf(agent: AgentDefinition, scope: SessionScope): JsonObject | undefined {
  const key = profileKeyOf(agent, scope);
  const own = key === undefined ? undefined : agent.profiles?.[key]?.output_schema;
  return own ?? ((scope.depth ?? 0) > 0 ? undefined : agent.output_schema);
}

/** The one JSON value that a text is, alone or as a block of code; undefined if it is anything else. */
export function outputIn(text: string): { readonly value: Json } | undefined {
  const bare = text.trim();
  const fenced = /^```\w*[ \t]*\r?\n([^]*)```$/.exec(bare);
  try {
    const value: unknown = JSON.parse(fenced?.[1] ?? bare);
    return isJson(value) && !isTooDeep(value) ? { value } : undefined;
  } catch {
    return undefined;
  }
}

function isTooDeep(value: Json): boolean {
  let level: readonly Json[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limits.jsonDepthMax) return true;
    level = level.flatMap((one) => typeof one === "object" && one !== null ? Object.values(one) : []);
  }
  return false;
}

/** What was found of an answer: several guards ask about the same one. */
const judged = new WeakMap<ModelAnswer, readonly string[]>();

/** What is wrong with the answer of a turn; empty if nothing is, or if it may have any form. */
export function outputProblems(context: TurnContext, done: PortDone): readonly string[] {
  const { output } = context;
  const answer = done.value as unknown as ModelAnswer;
  if (output === undefined || answer.calls.length > 0) return [];
  const before = judged.get(answer);
  if (before !== undefined) return before;
  const found = outputIn(wholeText(context, done));
  const problems = found === undefined
    ? ["the answer is not one JSON value, or has something before or behind it"]
    : checkAnswer(output, found.value);
  judged.set(answer, problems);
  return problems;
}

/** True if the model is to mend its answer: once in a turn, if a round is left. */
export function mayRepair(context: TurnContext, done: PortDone): boolean {
  const { isRepaired = false, step, roundsMax } = context;
  return !isRepaired && step + 1 < roundsMax && outputProblems(context, done).length > 0;
}

/** The next step: the model is told what is wrong, and answers anew. */
export function repair(context: TurnContext, done: PortDone): Partial<TurnContext> {
  const problems = outputProblems(context, done).slice(0, limits.outputProblemsMax);
  return {
    step: context.step + 1,
    append: [...context.notices ?? [], {
      type: "repair",
      problems: problems.map((one) => one.slice(0, 400)),
    }],
    notices: [],
    isRepaired: true,
    continuation: { reason: "output_repair" },
    ...(context.cutOff === undefined ? {} : { cutOff: null }),
  };
}

/** Why a turn fails whose last answer does not fit. */
export function outputFailure(context: TurnContext, done: PortDone): Failure {
  const problems = outputProblems(context, done).join("; ").slice(0, 1_000);
  const tried = context.isRepaired === true ? ", though the model was told what was wrong" : "";
  return failure(
    "output_invalid",
    `The answer does not fit output_schema${tried}: ${problems}. Ask again, or correct the schema or the instructions`,
  );
}
