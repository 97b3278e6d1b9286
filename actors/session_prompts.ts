/** The pure rules for prompts and host calls of a session: which waits, which is refused, which turn it becomes. */
import type { Spent } from "../schemas/budget.ts";
import { type Failure, failure } from "../schemas/failure.ts";
import type { Json } from "../schemas/json.ts";
import { limits } from "../schemas/limits.ts";
import type { Outgoing } from "../schemas/message.ts";
import type { HistoryItem } from "../schemas/model.ts";
import { doubtsIn } from "./doubt.ts";
import { outputSchemaOf } from "./output.ts";
import { profileKeyOf } from "./profile.ts";
import { sessionLedger, toldSpent, turnBudget } from "./session_budget.ts";
import { refusalOf } from "./session_close.ts";
import type { PromptRef, SessionContext, SessionEvent } from "./session_context.ts";
import { ended, expect } from "./session_rules.ts";
import { recoveryOf } from "./session_waiting.ts";
import type { TurnInput, TurnResult } from "./turn_context.ts";

/** Where a prompt stands: its text stays in the journal. */
export function promptOf(event: SessionEvent): PromptRef {
  if (event.type === "session.call") {
    const { seq, command, call } = event;
    return { seq, command: command ?? null, replyTo: null, call };
  }
  const { seq, command, sender, replyTo: answerTo } = expect(event, "session.prompt");
  return { seq, command: command ?? null, replyTo: sender === undefined ? null : answerTo ?? sender };
}

function refuse(prompt: PromptRef, self: string, why: Failure): readonly Outgoing[] {
  const posts: Outgoing[] = [];
  if (prompt.command !== null) {
    posts.push({ kind: "reply", command: prompt.command, status: "failed", value: { failure: why } });
  }
  if (prompt.replyTo !== null) {
    posts.push(answered(prompt.replyTo, { from: self, outcome: "failed", text: "", why }));
  }
  return posts;
}

interface Answered {
  readonly from: string;
  readonly outcome: string;
  readonly text: string;
  readonly why: Failure | null;
  readonly spent?: Partial<Spent>;
  readonly isStructured?: true | undefined;
}

function answered(to: string, { from, outcome, text, why, spent, isStructured }: Answered): Outgoing {
  const message = {
    type: "session.answered",
    from,
    outcome,
    text,
    ...(why === null ? {} : { failure: { ...why } }),
    ...(spent === undefined ? {} : { spent }),
    ...(isStructured === undefined ? {} : { structured: true }),
  };
  return { kind: "message", to, message };
}

/** Refuses a prompt that cannot wait, or that no catalog will ever serve. */
export function refusePrompt(context: SessionContext, event: SessionEvent): readonly Outgoing[] {
  const why = refusalOf(context, event) ?? closed(context) ?? context.refusal ??
    failure("prompt_queue_full", `${limits.promptsQueuedMax} prompts wait already: wait for a turn to end`);
  return refuse(promptOf(event), context.address, why);
}

/** Refuses the prompt that waits first. */
export function refuseFirst(context: SessionContext, why: Failure | undefined): readonly Outgoing[] {
  const [prompt] = context.queue;
  return prompt === undefined || why === undefined ? [] : refuse(prompt, context.address, why);
}

/** Refuses every waiting prompt, because the catalog was refused. */
export function refuseQueue(context: SessionContext): readonly Outgoing[] {
  const closed = failure("session_closed", "The session was ended before the turn of this prompt");
  const why = context.closing === undefined
    ? context.refusal ?? failure("catalog_unavailable", "The session has no catalog")
    : closed;
  return context.queue.flatMap((prompt) => refuse(prompt, context.address, why));
}

/** The turn that starts at `at`, in the runtime `epoch`: the first waiting prompt, under the catalog that was issued last. */
export function nextTurn(
  context: SessionContext,
  { at, epoch }: { readonly at: number; readonly epoch: number },
): {
  readonly input: TurnInput;
  readonly prompt: PromptRef;
  readonly rest: readonly PromptRef[];
  readonly notices: readonly HistoryItem[];
} {
  const [prompt, ...rest] = context.queue;
  if (prompt === undefined || context.issued === null) {
    throw new Error("Cannot start a turn without prompt and catalog");
  }
  const { agent } = context;
  const { call } = prompt;
  const profile = profileKeyOf(agent, context.scope ?? {});
  const input: TurnInput = {
    turn: context.turn + 1,
    at,
    epoch,
    append: call === undefined ? [...context.notices, { type: "prompt", seq: prompt.seq }] : [],
    catalog: context.issued,
    model: agent.model,
    fallbacks: agent.model_fallbacks ?? [],
    maxOutputTokens: agent.limits.max_output_tokens,
    roundsMax: agent.limits.rounds_per_turn,
    capabilities: agent.capabilities,
    mode: context.mode,
    grants: context.grants,
    ...(profile === undefined ? {} : { profile }),
    ...(call === undefined ? {} : { given: call, principal: prompt.command?.principal }),
    input: prompt.seq,
    ...turnBudget(context),
    ...recoveryOf(context),
    ...outputOf(context),
    ...doubtsIn(context),
  };
  // Notices are for the model: they wait for a turn that asks one.
  return { input, prompt, rest, notices: call === undefined ? [] : context.notices };
}

/** Gives a prompt up whose turn has not begun. */
export function dropPrompt(context: SessionContext): readonly Outgoing[] {
  const [prompt] = context.queue;
  if (prompt === undefined) return [];
  const why = closed(context) ?? failure("turn_canceled", "The turn was canceled before it began");
  return refuse(prompt, context.address, why);
}

/** A host's call has the form of its tool. */
function outputOf({ agent, scope = {} }: SessionContext): Pick<TurnInput, "output"> {
  const output = outputSchemaOf(agent, scope);
  return output === undefined ? {} : { output };
}

function closed({ isClosed }: SessionContext): Failure | null {
  if (isClosed !== true) return null;
  return failure(
    "session_closed",
    "The session was canceled as a whole and takes no more prompts: begin another one",
  );
}

/** What those who wait for the turn are told, and what the session has spent so far. The final text stays in the journal; a reply names where. */
export function turnReplies(context: SessionContext, event: SessionEvent): readonly Outgoing[] {
  const result = ended(event).output as TurnResult;
  const prompt = context.current;
  if (prompt === null) return [];
  const spent = toldSpent(sessionLedger(context));
  const posts: Outgoing[] = [];
  const commands = [...(prompt.command === null ? [] : [prompt.command]), ...context.resumers ?? []];
  for (const command of commands) {
    const value: Json = {
      turn: result.turn,
      outcome: result.outcome,
      steps: result.steps,
      answer: result.answer,
      ...(result.failure === null ? {} : { failure: { ...result.failure } }),
      ...(result.isStructured === undefined ? {} : { structured: true }),
      ...(result.call === undefined ? {} : { call: result.call as Json }),
      spent,
    };
    const status = result.outcome === "completed" ? "ok" : "failed";
    posts.push({ kind: "reply", command, status, value });
  }
  if (prompt.replyTo !== null) {
    const { outcome, text, failure: why, isStructured } = result;
    const from = context.address;
    posts.push(answered(prompt.replyTo, { from, outcome, text, why, spent, isStructured }));
  }
  return posts;
}

const given = [
  { guard: "isRefused", actions: "refusePrompt" },
  { guard: "isQueueFull", actions: "refusePrompt" },
  { actions: "enqueuePrompt" },
] as const;

/** What a session does about prompts and calls wherever it stands, as part of the session machine. */
export const promptable = { "session.prompt": given, "session.call": given } as const;
