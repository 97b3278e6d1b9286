/** The pure rules of a task that runs a child agent: what the child is told, how it stands, how it ends (CM-102..108). */
import type { AgentWork, ChildStanding, CloseStrictness } from "../schemas/child_agent.ts";
import type { Spent } from "../schemas/budget.ts";
import type { PortRequestOf } from "../schemas/effect.ts";
import { type Failure, failure } from "../schemas/failure.ts";
import type { JsonObject } from "../schemas/json.ts";
import { limits } from "../schemas/limits.ts";
import type { Outgoing } from "../schemas/message.ts";
import { replyTo } from "./outbox.ts";
import type { TaskContext, TaskEvent } from "./task.ts";
import { ended } from "./task_rules.ts";

/** What a task remembers of its child. */
export interface ChildState
  extends
    Pick<ChildStanding, "isMade" | "observed" | "close" | "answers" | "outcome" | "answer" | "structured"> {
  /** True from when the session lets it run until it rests. */
  readonly isAdmitted: boolean;
  /** How its end was asked for; null while nobody asked. */
  readonly strictness: CloseStrictness | null;
  /** Prompts that wait until it may run. */
  readonly prompts: readonly string[];
  /** True once it was given its first prompt. */
  readonly hasBegun: boolean;
  /** Answers that are still to come. */
  readonly awaited: number;
  /** Why its latest turn failed. */
  readonly failure: Failure | null;
  /** What it has spent in all, as far as it told. */
  readonly spent: Partial<Spent>;
}

/** A child of which nothing has happened. */
export const newborn: ChildState = {
  isMade: false,
  observed: "waiting",
  close: "open",
  answers: 0,
  outcome: null,
  answer: "",
  isAdmitted: false,
  strictness: null,
  prompts: [],
  hasBegun: false,
  awaited: 0,
  failure: null,
  spent: {},
};

/** The work of a task that runs a child. */
export function workOf({ address, work }: TaskContext): AgentWork {
  if (work.kind !== "agent.spawn") throw new Error(`Cannot treat "${address}" as the task of a child`);
  return work;
}

/** What is remembered of the child. */
export function childOf({ child }: TaskContext): ChildState {
  return child ?? newborn;
}

/** The task with other news of its child. */
export function withChild(context: TaskContext, changes: Partial<ChildState>): Pick<TaskContext, "child"> {
  return { child: { ...childOf(context), ...changes } };
}

/** How the child stands, as the store tells of it. */
export function standingOf(context: TaskContext): { readonly agent?: ChildStanding } {
  if (context.work.kind !== "agent.spawn") return {};
  const { child, scope, path, requested, rights, slots } = context.work;
  const { isMade, observed, close, answers, outcome, answer, structured } = childOf(context);
  return {
    agent: {
      child,
      scope,
      path,
      requested,
      rights,
      slots,
      isMade,
      observed: context.isBlocked === true && observed === "running" ? "waiting" : observed,
      close,
      answers,
      outcome,
      answer,
      ...(structured === undefined ? {} : { structured }),
    },
  };
}

/** Makes the child's session; a repeat finds it made. */
export function open(context: TaskContext): PortRequestOf<"agent.open"> {
  const { id: task, owner, budget } = context;
  const args = { task, owner, work: workOf(context), ...(budget === undefined ? {} : { budget }) };
  return { port: "agent.open", effect: "idempotent", args };
}

/** True if a message came from the child's own session, or about it from who looks after roots. */
export function isFromChild(context: TaskContext, event: TaskEvent): boolean {
  return context.work.kind === "agent.spawn" && event.sender === context.work.child;
}

/** True if the answer that came is not the last that is waited for. */
export function isMoreAwaited(context: TaskContext, event: TaskEvent): boolean {
  return isFromChild(context, event) && childOf(context).awaited > 1;
}

/** The session has noted the task. */
export function accepted(event: TaskEvent): Partial<TaskContext> {
  if (event.type !== "task.accepted") return {};
  const { turn, budget } = event;
  return { turn, ...(budget === undefined ? {} : { budget }) };
}

/** The session will never let it begin. */
export function refused(context: TaskContext, event: TaskEvent): Partial<TaskContext> {
  if (event.type !== "task.refused") return {};
  const { failure: why } = event;
  return {
    ...ended(event.at, { status: "failed", summary: why.message }),
    failure: why,
    ...unopened(context),
  };
}

/** Nothing was begun: there is nothing to close. */
export function unopened(context: TaskContext): Partial<TaskContext> {
  if (context.work.kind !== "agent.spawn") return {};
  return withChild(context, { close: "closed", observed: "interrupted" });
}

/** The child's session exists. */
export function made(context: TaskContext): Partial<TaskContext> {
  return withChild(context, { isMade: true, observed: "idle" });
}

/** There is a place for it. */
export function admitted(context: TaskContext, event: TaskEvent): Partial<TaskContext> {
  const child = withChild(context, { isAdmitted: true });
  if (event.type !== "task.admitted") return child;
  return { ...child, turn: event.turn, startedAt: context.startedAt ?? event.at };
}

/** A prompt waits until the child may run. */
export function keepPrompt(context: TaskContext, event: TaskEvent): Partial<TaskContext> {
  const { prompts } = childOf(context);
  if (event.type !== "task.send" || isCrowded(context)) return {};
  return withChild(context, { prompts: [...prompts, event.text] });
}

/** True if no more prompts can wait. */
export function isCrowded(context: TaskContext): boolean {
  return childOf(context).prompts.length >= limits.childMessagesWaitingMax;
}

/** The prompts that the child is given now. */
export function prompts(context: TaskContext): readonly Outgoing[] {
  const { content } = workOf(context);
  const { prompts: waiting, hasBegun } = childOf(context);
  return [...hasBegun ? [] : [content], ...waiting].map((text) => promptFor(context, text));
}

function promptFor(context: TaskContext, text: string): Outgoing {
  const message = { type: "session.prompt", text, replyTo: context.address };
  return { kind: "message", to: workOf(context).child, message };
}

/** The child was given what waited. */
export function prompted(context: TaskContext): Partial<TaskContext> {
  const { awaited, hasBegun, prompts: waiting } = childOf(context);
  const sent = waiting.length + (hasBegun ? 0 : 1);
  return {
    status: "running",
    ...withChild(context, {
      hasBegun: true,
      prompts: [],
      awaited: awaited + sent,
      observed: "running",
      outcome: null,
      failure: null,
    }),
  };
}

/** One more prompt for a child that runs. */
export function sendNow(context: TaskContext, event: TaskEvent): readonly Outgoing[] {
  return event.type === "task.send" ? [promptFor(context, event.text), ...sent(event)] : [];
}

/** One more answer is to come. */
export function sentNow(context: TaskContext): Partial<TaskContext> {
  return withChild(context, { awaited: childOf(context).awaited + 1 });
}

/** Tells who sent a prompt that it was taken, or that no more can wait. */
export function sent(event: TaskEvent, isRefused = false): readonly Outgoing[] {
  const why = failure(
    "child_busy",
    `${limits.childMessagesWaitingMax} messages wait for this child: wait for it first`,
  );
  const reply = isRefused
    ? replyTo(event, "failed", { failure: { ...why } })
    : replyTo(event, "ok", { result: "sent" });
  return reply === undefined ? [] : [reply];
}

/** Tells who sent a prompt that the child takes none. */
export function refuseSend(context: TaskContext, event: TaskEvent): readonly Outgoing[] {
  const text = context.work.kind === "agent.spawn"
    ? "This child agent is being closed, or has ended: begin another one"
    : "This task runs no agent: it takes no messages";
  const reply = replyTo(event, "failed", { failure: { ...failure("session_closed", text) } });
  return reply === undefined ? [] : [reply];
}

/** The child answered. */
export function answered(context: TaskContext, event: TaskEvent): Partial<TaskContext> {
  if (event.type !== "session.answered") return {};
  const { awaited, answers } = childOf(context);
  const { outcome, text, failure: why = null, spent = childOf(context).spent, structured } = event;
  // A prompt that came too late says nothing of the work.
  if (why?.code === "session_closed") return withChild(context, { awaited: Math.max(0, awaited - 1) });
  const { structured: _, ...child } = childOf(context);
  const before = { ...context, child };
  return withChild(before, {
    awaited: Math.max(0, awaited - 1),
    answers: answers + 1,
    ...(structured === undefined ? {} : { structured }),
    outcome,
    answer: text.slice(0, limits.childAnswerCharactersMax),
    failure: why,
    spent,
    ...(awaited > 1 ? {} : { observed: observedAfter(outcome) }),
  });
}

function observedAfter(outcome: NonNullable<ChildState["outcome"]>): ChildState["observed"] {
  if (outcome === "completed") return "completed";
  return outcome === "failed" || outcome === "needs_user" ? "failed" : "interrupted";
}

/** A child that rests takes no place, and its session hears of its answer. */
export function rested(context: TaskContext): Outgoing {
  const { id: task, owner, title, silent } = context;
  const { answers, outcome } = childOf(context);
  const message = {
    type: "task.rested",
    task,
    child: workOf(context).child,
    title,
    answers,
    outcome: outcome ?? "unknown",
    summary: summaryOf(context),
    silent,
  };
  return { kind: "message", to: owner, message };
}

/** A child that has a prompt again asks for a place. */
export function resumed({ id: task, owner }: TaskContext): Outgoing {
  return { kind: "message", to: owner, message: { type: "task.resumed", task } };
}

/** It waits for a place again. */
export function waiting(context: TaskContext): Partial<TaskContext> {
  return { status: "queued", ...withChild(context, { isAdmitted: false, observed: "waiting" }) };
}

/** It has answered, and gives its place back. */
export function unadmitted(context: TaskContext): Partial<TaskContext> {
  return withChild(context, { isAdmitted: false });
}

/** The child's latest answer in short, or why there is none. */
export function summaryOf(context: TaskContext): string {
  const { answer, outcome, failure: why } = childOf(context);
  const text = why === null ? answer : `${why.message}${answer === "" ? "" : `\n${answer}`}`;
  if (outcome === null && answer === "") return "It was ended before it had answered";
  return text.slice(0, limits.taskSummaryCharactersMax);
}

/** How the letter about the end names the child, and what it cost. */
export function childIn(context: TaskContext): JsonObject {
  if (context.work.kind !== "agent.spawn") return {};
  return { child: context.work.child, spent: { ...childOf(context).spent } };
}
