/** A question to a person: what is shown, what may be answered. */
import { z } from "zod";
import { Digest } from "./ids.ts";
import { Principal } from "./principal.ts";

/** Why a person is asked. */
export const QuestionKind = z.enum(["approval", "uncertain", "connect"]);
/** Why a person is asked. */
export type QuestionKind = z.infer<typeof QuestionKind>;

/** Every answer that any question may offer (DM-34; notes 3.3 for uncertain outcomes). */
export const Decision = z.enum([
  "allow",
  "deny",
  "always_allow_for_session",
  "run_again",
  "mark_applied",
  "mark_not_applied",
  "abandon",
]);
/** An answer to a question. */
export type Decision = z.infer<typeof Decision>;

/** The decisions that each kind of question offers; anything else is refused. */
export const offeredDecisions: { readonly [K in QuestionKind]: readonly Decision[] } = {
  approval: ["allow", "deny", "always_allow_for_session"],
  uncertain: ["run_again", "mark_applied", "mark_not_applied", "abandon"],
  connect: ["allow", "deny"],
};

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
});
/** What a question shows. */
export type QuestionSubject = z.infer<typeof QuestionSubject>;

/** The value of a `question.ask` outcome. */
export const Answer = z.strictObject({
  decision: Decision,
  by: Principal,
  /** Hash of what was shown; an answer to something else is refused (K3). */
  shown: Digest,
  note: z.string().max(1_000).optional(),
});
/** An answer given by a principal. */
export type Answer = z.infer<typeof Answer>;
