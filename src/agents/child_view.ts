/** What tools say of a child: statuses and ids in one form. */
import { outputIn } from "../../actors/output.ts";
import type { CloseState } from "../../schemas/child_agent.ts";
import { type Failure, failure } from "../../schemas/failure.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import type { Child } from "./agent_desk.ts";

/** How far the end has come, as agents are told of it (CM-104). */
const shownClose: { readonly [S in CloseState]: string } = {
  open: "open",
  requested: "close_requested",
  acknowledged: "close_requested",
  closed: "closed",
  failed: "closed",
};

/** The id by which tools know a child. */
// Not `session_id`: what stands under that name is taken out as a secret, wherever it comes in (DM-50).
export function childId({ agent }: Child): string {
  return agent.child.slice("session/".length);
}

/** How a child stands. */
export function statusView(child: Child): JsonObject {
  const { observed, close } = child.agent;
  return {
    child_id: childId(child),
    observed_status: observed,
    close_state: close,
    derived_close_status: shownClose[close],
    task_status: child.status,
  };
}

/** How a child stands, and what it answered. */
export function answerView(child: Child): JsonObject {
  const { answer, answers, outcome, structured } = child.agent;
  const isCut = answer.length >= limits.childAnswerCharactersMax;
  const output = structured === true && !isCut ? outputIn(answer) : undefined;
  return {
    ...statusView(child),
    answers,
    outcome,
    answer,
    // The whole is in its session.
    ...(isCut ? { answer_cut: true } : {}),
    ...(output === undefined ? {} : { output: output.value }),
    ...(child.failure === null ? {} : { failure: { ...child.failure } }),
  };
}

/** The refusal of an id that is none of this session's children. */
export function notFound(id: string): Failure {
  const shown = JSON.stringify(id.slice(0, 60));
  return failure("child_not_found", `This session has no child agent ${shown}: look at subagent_list`);
}

/** The refusal of a runtime that has no children at all. */
export const noAgents: Failure = failure("tool_failed", "This runtime has no child agents");
