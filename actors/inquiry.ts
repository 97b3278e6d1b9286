/** What an invocation wants a person to be asked: what is shown, what may be answered, and what the answer is about. */
import type { ApprovalScope } from "../schemas/grant.ts";
import type { QuestionSubject } from "../schemas/question.ts";
import type { InvocationContext } from "./invocation_context.ts";
import { entryIn } from "./invocation_rules.ts";
import { callScope } from "./policy/approval_scope.ts";
import { bindsSecret, offersFor } from "./policy/offer.ts";
import { exactKey } from "./policy/rule_key.ts";
import { previewArguments, showWhole } from "./preview.ts";
import { higherRisk } from "./risk.ts";

/** What an invocation wants a person to be asked. */
export interface Inquiry {
  readonly subject: QuestionSubject;
  /** Everything of which the subject shows a part; null if it shows all. */
  readonly whole: string | null;
  /** What "always" would be about; null if nothing is remembered. */
  readonly scope: ApprovalScope | null;
  /** Equal for requests of which one answer is enough (DM-37); empty if this one stands alone. */
  readonly twin: string;
  /** Hash of the entry that the question is about: another one makes it stale (B23). */
  readonly entry: string | null;
}

/** An inquiry as the session hears of it: who waits, since when, and in which runtime. */
export interface Opening extends Inquiry {
  readonly type: "question.open";
  readonly ordinal: string;
  readonly at: number;
  readonly epoch: number;
}

/** What a person is asked before a call that needs approval. */
export function approvalInquiry(context: InvocationContext): Opening {
  const { rule, request, review } = context;
  const entry = entryIn(context);
  const exact = bindsSecret(entry) ? "" : exactKey(entry, request.arguments ?? {}, review);
  const { hash = null } = entry;
  return {
    ...inquiry(context, "approval", context.reason, {
      offers: [...offersFor(entry, rule)],
      ...(bindsSecret(entry) ? { once: true } : {}),
    }),
    scope: callScope(entry, context),
    twin: hash === null || exact === "" ? "" : `${hash} ${exact}`,
    entry: hash,
    ...openedBy(context),
  };
}

/** What a person is asked when a call may have happened. */
export function uncertainInquiry(context: InvocationContext): Opening {
  const reason = context.failure?.message ?? "The outcome of this call is unknown";
  const asked = inquiry(context, "uncertain", `${reason}. It may have happened`);
  return { ...asked, scope: null, twin: "", entry: null, ...openedBy(context) };
}

function openedBy({ request, at, epoch }: InvocationContext) {
  return { type: "question.open" as const, ordinal: request.ordinal, at, epoch };
}

function inquiry(
  context: InvocationContext,
  kind: QuestionSubject["kind"],
  reason: string,
  offer: Pick<QuestionSubject, "offers" | "once"> = {},
): Pick<Inquiry, "subject" | "whole"> {
  const { rule, request } = context;
  const shown = described(context, { kind, reason });
  const whole = showWhole(request.arguments ?? {});
  const isWhole = whole === undefined || whole === shown.preview;
  return {
    subject: { ...shown, rule, ...offer, ...(isWhole ? {} : { characters: whole.length }) },
    whole: isWhole ? null : whole,
  };
}

function described(
  context: InvocationContext,
  { kind, reason }: Pick<QuestionSubject, "kind" | "reason">,
): Omit<QuestionSubject, "rule"> {
  const entry = entryIn(context);
  return {
    kind,
    invocation: context.request.ordinal,
    tool: entry.canonicalName,
    title: entry.definition.title.slice(0, 200),
    risk: higherRisk(entry.definition.riskLevel, context.review?.risk ?? "low"),
    reason: reason.slice(0, 500),
    preview: previewArguments(context.request.arguments ?? {}),
  };
}
