/** A question to a person: what is shown, what may be answered. */
import { z } from "zod";
import { Form, FormContent } from "./form.ts";
import { Digest, IntentId, ServerId } from "./ids.ts";
import { limits } from "./limits.ts";
import { Principal } from "./principal.ts";

/** Why a person is asked. */
export const QuestionKind = z.enum(["approval", "uncertain", "connect", "elicitation", "sampling"]);
/** Why a person is asked. */
export type QuestionKind = z.infer<typeof QuestionKind>;

/** Every answer that any question may offer (DM-34; notes 3.3 for uncertain outcomes; the last three for servers). */
export const Decision = z.enum([
  "allow",
  "deny",
  "always_allow_for_session",
  "run_again",
  "mark_applied",
  "mark_not_applied",
  "abandon",
  "accept",
  "decline",
  "cancel",
]);
/** An answer to a question. */
export type Decision = z.infer<typeof Decision>;

/** The decisions that each kind of question offers; anything else is refused. */
export const offeredDecisions: { readonly [K in QuestionKind]: readonly Decision[] } = {
  approval: ["allow", "deny", "always_allow_for_session"],
  uncertain: ["run_again", "mark_applied", "mark_not_applied", "abandon"],
  connect: ["allow", "deny"],
  elicitation: ["accept", "decline", "cancel"],
  sampling: ["allow", "deny"],
};

/** True for what settles a call that may have happened: that needs principal, decision and note (R11). */
export function needsNote(decision: Decision): boolean {
  return offeredDecisions.uncertain.includes(decision);
}

/** Longest note to a decision, in characters. */
export const noteCharactersMax = 1_000;

/** The words that people use for decisions, besides their own names. */
export const decisionWords: { readonly [word: string]: Decision } = { always: "always_allow_for_session" };

/** What a server, or the agent, wants of a person, in its own words; its message is the question's preview. */
export const Elicitation = z.strictObject({
  /** Absent if the agent asks by a tool of the runtime. */
  server: ServerId.exactOptional(),
  /** What is to be filled in; absent if it is no form. */
  fields: Form.optional(),
  /** The page to be opened: it is shown, and never opened by us. */
  url: z.string().max(limits.formUrlCharactersMax).optional(),
  /** The call that is held open in memory: once it is gone, nobody waits for the answer. */
  held: IntentId.optional(),
});
/** What a server wants of a person. */
export type Elicitation = z.infer<typeof Elicitation>;

/** What a question shows: bounded and redacted before it gets here. */
export const QuestionSubject = z.strictObject({
  kind: QuestionKind,
  /** Which invocation waits: `turn/<n>/call/<step>.<i>`, relative to its session; `connect` if none does yet. */
  invocation: z.string().max(128),
  tool: z.string().max(256),
  title: z.string().max(200),
  risk: z.string().max(20),
  reason: z.string().max(500),
  /** Bounded, redacted preview of the arguments. */
  preview: z.string().max(4_000),
  /** The session's rule that `always_allow_for_session` would add. */
  rule: z.string().max(600),
  /** What may be answered; absent in questions of earlier releases, which offer all that their kind does. */
  offers: z.array(Decision).min(1).optional(),
  /** Set if `always_allow_for_session` counts for this call only: a secret is bound anew each time (DM-39). */
  once: z.literal(true).optional(),
  /** Length of the whole text of which `preview` shows a part; absent if it shows all. */
  characters: z.int().min(1).max(limits.approvalCharactersMax).optional(),
  /** What a server asks for during a call. */
  elicitation: Elicitation.optional(),
});
/** What a question shows. */
export type QuestionSubject = z.infer<typeof QuestionSubject>;

/** What a question offers: an answer that is not among these is refused, whoever gives it. */
export function offeredBy({ kind, offers }: Pick<QuestionSubject, "kind" | "offers">): readonly Decision[] {
  return offers ?? offeredDecisions[kind];
}

/** The whole of what is approved, as it is shown: masked, with everything visible. */
export const WholeText = z.string().min(1).max(limits.approvalCharactersMax);

/** The value of a `question.ask` outcome. */
export const Answer = z.strictObject({
  decision: Decision,
  by: Principal,
  /** Hash of what was shown; an answer to something else is refused (K3). */
  shown: Digest,
  note: z.string().max(noteCharactersMax).optional(),
  /** What was filled in, complete and checked; with `accept` of a form only. */
  content: FormContent.optional(),
});
/** An answer given by a principal. */
export type Answer = z.infer<typeof Answer>;
