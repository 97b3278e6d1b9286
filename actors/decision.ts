/** What is decided about one call, from its scope to what can be shown of it, and what the journal keeps of that. */
import { failure } from "../schemas/failure.ts";
import { limits } from "../schemas/limits.ts";
import type { Outgoing } from "../schemas/message.ts";
import type { InvocationContext } from "./invocation_context.ts";
import { heldForDoubt } from "./doubt.ts";
import { entryIn } from "./invocation_rules.ts";
import { approvalNote, judgedNote } from "./judgement.ts";
import { type Authorization, authorize } from "./policy/authorize.ts";
import { refusedBefore, refusedCheck } from "./policy/refusal.ts";
import { ruleKey } from "./policy/rule_key.ts";
import { checkScope } from "./policy/scope.ts";
import { showWhole } from "./preview.ts";

/** What a decision depends on, besides the catalog that the request's entry is from. */
export type DecisionContext =
  & Pick<InvocationContext, "request" | "capabilities" | "grants" | "mode" | "at" | "epoch">
  & Partial<Pick<InvocationContext, "review" | "wasRefused" | "doubt">>;

/** Policy's verdict on a valid request, and the record of its checks. What a person refused is refused, whatever else allows it. */
export function decide(context: DecisionContext): {
  readonly decided: Pick<InvocationContext, "verdict" | "reason" | "rule" | "failure">;
  readonly notes: readonly Outgoing[];
} {
  const { request, capabilities, grants, mode, review, at, epoch } = context;
  const entry = entryIn(context);
  const given = request.arguments ?? {};
  const rule = ruleKey(entry, given, review);
  const scope = checkScope(request);
  if (scope.failure !== undefined) {
    const { failure: why, check } = scope;
    return {
      decided: { verdict: "deny", reason: why.message, rule, failure: why },
      notes: [judgedNote(request, "deny", [check])],
    };
  }
  const policy = authorize({ entry, arguments: given, review, capabilities, mode, grants, rule, at, epoch });
  const judged = showable(context, heldForDoubt(policy, context.doubt));
  const { verdict, reason, failure, checks } = judged;
  if (verdict !== "deny" && context.wasRefused === true) {
    const why = refusedBefore();
    return {
      decided: { verdict: "deny", reason: why.message, rule, failure: why },
      notes: [judgedNote(request, "deny", [scope.check, ...checks, refusedCheck])],
    };
  }
  const approval = approvalNote(request, judged);
  return {
    decided: { verdict, reason, rule, failure: failure ?? null },
    notes: [
      judgedNote(request, verdict, [scope.check, ...checks]),
      ...(approval === undefined ? [] : [approval]),
    ],
  };
}

/** Nobody is asked about what nobody could be shown whole (B18). */
function showable({ request }: DecisionContext, judged: Authorization): Authorization {
  if (judged.verdict !== "ask" || showWhole(request.arguments ?? {}) !== undefined) return judged;
  const why =
    `The arguments of "${request.name}" take more than ${limits.approvalCharactersMax} characters, and a ` +
    "person must be shown all that is approved: make smaller calls";
  const check = { check: "shown", verdict: "deny", by: "approval", why } as const;
  const denial = failure("approval_too_large", why);
  return {
    verdict: "deny",
    rule: judged.rule,
    reason: why,
    failure: denial,
    checks: [...judged.checks, check],
  };
}
