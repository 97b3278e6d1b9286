/** The pure rules by which a session asks people: who shares a question, who must not ask, and what an answer allows. */
import type { FormContent } from "../schemas/form.ts";
import type { Grant, KeptGrant } from "../schemas/grant.ts";
import type { JsonObject } from "../schemas/json.ts";
import { limits } from "../schemas/limits.ts";
import type { Outgoing } from "../schemas/message.ts";
import type { Decision } from "../schemas/question.ts";
import type { Opening } from "./inquiry.ts";
import { entryOf } from "./library.ts";
import { withGrant, withoutGrantsOf } from "./policy/grant.ts";
import type { QuestionInput, QuestionResult } from "./question.ts";
import type { OpenQuestion, SessionContext, SessionEvent } from "./session_context.ts";
import { ended, expect } from "./session_rules.ts";
import type { TurnEvent } from "./turn_context.ts";

/** What a session does about its questions in one step. */
export interface QuestionStep {
  readonly changes: Partial<Pick<SessionContext, "asked" | "asks" | "questions" | "grants" | "revocations">>;
  readonly start?: { readonly id: string; readonly input: QuestionInput };
  /** Questions that end, in the same commit as what ends them. */
  readonly stop: readonly string[];
  /** What the turn's invocations learn. */
  readonly told: readonly TurnEvent[];
  readonly notes: readonly Outgoing[];
}

/** What a step about questions needs of a machine's queue of actions. */
interface Queue {
  (action: { readonly type: "post"; readonly params: Outgoing }): void;
  assign(changes: QuestionStep["changes"]): void;
  spawnChild(src: "question", options: { readonly id: string; readonly input: QuestionInput }): void;
  stopChild(id: string): void;
  sendTo(id: string, event: TurnEvent): void;
}

/** Does what a step about questions says, all in one commit. */
export function act(enqueue: Queue, { turn }: SessionContext, step: QuestionStep): void {
  for (const params of step.notes) enqueue({ type: "post", params });
  for (const id of step.stop) enqueue.stopChild(id);
  if (step.start !== undefined) enqueue.spawnChild("question", step.start);
  enqueue.assign(step.changes);
  for (const event of step.told) enqueue.sendTo(`turn/${turn}`, event);
}

const nothing: QuestionStep = { changes: {}, stop: [], told: [], notes: [] };

/** How a decision came about, for the invocation and the journal. */
interface Word {
  readonly decision: Decision;
  readonly via: string;
  readonly content?: FormContent;
  readonly at: number;
  readonly epoch: number;
}

/**
 * An invocation wants to ask. The very same request as one that is asked about already waits for that answer (DM-37);
 * where too many were asked in a short time, nobody is asked, and the call is refused (B28); else a question opens.
 */
export function openQuestion(context: SessionContext, event: SessionEvent): QuestionStep {
  const opening = expect(event, "question.open");
  const twin = context.questions.find((one) => opening.twin !== "" && one.twin === opening.twin);
  if (twin !== undefined) return share(context, opening, twin);
  const isApproval = opening.subject.kind === "approval";
  const asks = (context.asks ?? []).filter((at) => opening.at - at < limits.questionWindowMs);
  // An uncertain call is asked about whatever was asked before; what models and servers can bring about is counted.
  const isCounted = opening.subject.kind !== "uncertain";
  if (isCounted && asks.length >= limits.questionsPerWindowMax) return refuse(context, opening);
  const id = `question/${context.asked + 1}`;
  const question = newQuestion(context, opening, id);
  const shown = { ...opening.subject, invocation: `turn/${context.turn}/${opening.ordinal}` };
  const whole = opening.whole === null ? {} : { whole: opening.whole };
  return {
    ...nothing,
    changes: {
      asked: context.asked + 1,
      asks: isCounted ? [...asks, opening.at] : asks,
      questions: [...context.questions, question],
    },
    start: { id, input: { subject: shown, ...whole, at: opening.at, openMs: limits.questionOpenMs } },
    notes: isApproval ? [requested(context, opening, { question: id })] : [],
  };
}

function newQuestion({ revocations = 0 }: SessionContext, opening: Opening, id: string): OpenQuestion {
  const { ordinal, subject, twin, scope, entry, epoch } = opening;
  const isApproval = subject.kind === "approval";
  return {
    id,
    ordinal,
    rule: subject.rule,
    waiting: [ordinal],
    ...(isApproval ? { tool: subject.tool, twin, scope, entry, epoch, revocations } : {}),
  };
}

function share(context: SessionContext, opening: Opening, twin: OpenQuestion): QuestionStep {
  const waiting = [...waitingFor(twin), opening.ordinal];
  return {
    ...nothing,
    changes: { questions: replaced(context, { ...twin, waiting }) },
    notes: [requested(context, opening, { question: twin.id, shared: true })],
  };
}

function refuse(context: SessionContext, { ordinal, subject, at, epoch }: Opening): QuestionStep {
  const word: Word = { decision: "deny", via: "limited", at, epoch };
  const note = decided(context, { ordinal, tool: subject.tool, word, automatic: true });
  return { ...nothing, told: [telling(ordinal, word)], notes: subject.kind === "approval" ? [note] : [] };
}

/** An invocation needs no answer any more. The question goes with the last one that waits for it (DM-37). */
export function withdrawQuestion(context: SessionContext, event: SessionEvent): QuestionStep {
  const { ordinal } = expect(event, "question.withdraw");
  const question = context.questions.find((one) => waitingFor(one).includes(ordinal));
  if (question === undefined) return nothing;
  const waiting = waitingFor(question).filter((other) => other !== ordinal);
  if (waiting.length > 0) {
    return { ...nothing, changes: { questions: replaced(context, { ...question, waiting }) } };
  }
  return { ...nothing, changes: { questions: without(context, question) }, stop: [question.id] };
}

/**
 * A question ended: everybody who waits for it learns how. "always" becomes a grant, unless the runtime was started anew
 * or grants were revoked since it was asked (DM-36), or there is nothing that it could be about (DM-39).
 */
export function settleQuestion(context: SessionContext, event: SessionEvent): QuestionStep {
  const { actorId, output } = ended(event);
  const result = output as QuestionResult;
  const question = context.questions.find((open) => open.id === actorId);
  if (question === undefined) throw new Error(`Cannot settle "${actorId}": no such question is open`);
  const grant = grantOf(context, question, result);
  const { decision, via, content, at, epoch, by } = result;
  const word: Word = { decision, via, ...(content === undefined ? {} : { content }), at, epoch };
  const { tool } = question;
  const waiting = waitingFor(question);
  return {
    changes: {
      questions: without(context, question),
      ...(grant === undefined ? {} : { grants: withGrant(context.grants, grant) }),
    },
    stop: [question.id],
    told: waiting.map((ordinal) => telling(ordinal, heardOf(word, by), grant)),
    notes: tool === undefined ? [] : waiting.map((ordinal, index) =>
      decided(context, {
        ordinal,
        tool,
        word,
        automatic: via !== "answered",
        by,
        ...(index === 0 ? {} : { shared: true }),
      })
    ),
  };
}

function grantOf(
  { revocations = 0 }: SessionContext,
  question: OpenQuestion,
  { decision, by, at, epoch }: QuestionResult,
): Grant | undefined {
  const { scope = null } = question;
  if (decision !== "always_allow_for_session" || scope === null || by === undefined) return undefined;
  if (question.epoch !== epoch || question.revocations !== revocations) return undefined;
  return { scope, by, at, epoch };
}

/** A new catalog: a question about a tool that is another one now, or gone, is stale, and its call is refused (B23). */
export function endStale(context: SessionContext, event: SessionEvent): QuestionStep {
  const { catalog, at, epoch } = expect(event, "catalog.issued");
  const stale = context.questions.filter(({ tool, entry }) =>
    tool !== undefined && typeof entry === "string" &&
    entryOf({ catalog: catalog.hash, name: tool })?.hash !== entry
  );
  if (stale.length === 0) return nothing;
  const word: Word = { decision: "deny", via: "stale", at, epoch };
  const waits = stale.flatMap((question) =>
    waitingFor(question).map((ordinal) => ({ ordinal, tool: question.tool ?? "" }))
  );
  return {
    ...nothing,
    changes: { questions: context.questions.filter((question) => !stale.includes(question)) },
    stop: stale.map(({ id }) => id),
    told: waits.map(({ ordinal }) => telling(ordinal, word)),
    notes: waits.map((wait) => decided(context, { ...wait, word, automatic: true })),
  };
}

/** Earlier answers end; no question that is open now can bring them back (DM-36). */
export function revoke(context: SessionContext, event: SessionEvent): QuestionStep {
  const { principal } = expect(event, "session.revoke");
  const grants: readonly KeptGrant[] = withoutGrantsOf(context.grants, principal);
  return {
    ...nothing,
    changes: { grants, revocations: (context.revocations ?? 0) + 1 },
    told: context.current === null ? [] : [{ type: "turn.revoked", grants }],
  };
}

/** Programs deny only where no person is there: then nobody refused the call, it needs somebody (DM-133). */
function heardOf(word: Word, by: QuestionResult["by"]): Word {
  const isNobody = word.decision === "deny" && by?.kind === "program";
  return isNobody ? { ...word, via: "unavailable" } : word;
}

/** Who waits for a question. Earlier releases knew only one. */
function waitingFor({ waiting, ordinal }: OpenQuestion): readonly string[] {
  return waiting ?? [ordinal];
}

function replaced({ questions }: SessionContext, changed: OpenQuestion): readonly OpenQuestion[] {
  return questions.map((question) => question.id === changed.id ? changed : question);
}

function without({ questions }: SessionContext, { id }: OpenQuestion): readonly OpenQuestion[] {
  return questions.filter((question) => question.id !== id);
}

function telling(ordinal: string, { decision, via, content, at, epoch }: Word, grant?: Grant): TurnEvent {
  return {
    type: "turn.decided",
    ordinal,
    decision,
    via,
    ...(content === undefined ? {} : { content }),
    at,
    epoch,
    ...(grant === undefined ? {} : { grant }),
  };
}

function requested({ turn }: SessionContext, { ordinal, subject }: Opening, more: JsonObject): Outgoing {
  const body = { turn, ordinal, tool: subject.tool, risk: subject.risk, ...more };
  return { kind: "note", type: "approval.requested", body };
}

interface DecidedOptions {
  readonly ordinal: string;
  readonly tool: string;
  readonly word: Word;
  /** True if no person decided. */
  readonly automatic: boolean;
  readonly by?: Grant["by"] | undefined;
  readonly shared?: boolean;
}

function decided({ turn }: SessionContext, options: DecidedOptions): Outgoing {
  const { ordinal, tool, word: { decision, via }, automatic, by, shared } = options;
  const isDenied = decision !== "allow" && decision !== "always_allow_for_session";
  const body: JsonObject = {
    turn,
    ordinal,
    tool,
    decision,
    via,
    cached: false,
    automatic,
    ...(by === undefined ? {} : { by: { ...by } }),
    ...(shared === undefined ? {} : { shared }),
  };
  return { kind: "note", type: isDenied ? "approval.denied" : "approval.decided", body };
}
