/** `questions` and `answer`: what waits for a person, and the decision. */
import type { ApiGiven, ApiResult } from "../../schemas/api.ts";
import { answerQuestion } from "../host/answering.ts";
import { ApiFailure, questionNotFound } from "./api_failure.ts";
import type { Caller } from "./caller.ts";
import type { ApiCallContext } from "./api_parts.ts";
import { isVisible, ownerOf, sessionFor } from "./visible.ts";
import { type RootRecords, sessionsAbove } from "../ancestors.ts";
import { principalText } from "../../schemas/principal.ts";
import type { RootAddress } from "../../schemas/ids.ts";

/** The open questions of agents that the caller can see. */
export function questions(
  context: ApiCallContext,
  { address }: ApiGiven<"questions">,
): Promise<ApiResult<"questions">> {
  const { parts: { runtime }, caller } = context;
  const { records } = runtime.kernel;
  if (address !== undefined) sessionFor(context, address);
  const seen = runtime.questions.list().filter(({ root }) =>
    isVisible(records, caller, root) &&
    (address === undefined || sessionsAbove(records, root).includes(address))
  );
  return Promise.resolve({
    questions: seen.map(({ id, root, subject, whole, shown, deadlineAtMs }) => ({
      id,
      address: root,
      subject,
      ...(whole === undefined ? {} : { whole }),
      shown,
      ...(Number.isFinite(deadlineAtMs) ? { deadline_at: deadlineAtMs } : {}),
    })),
  });
}

/** Decides a question; the first decision holds, and repeating it is answered the same (B24). */
export async function answer(
  { parts: { runtime }, caller }: ApiCallContext,
  { question, ...given }: ApiGiven<"answer">,
): Promise<ApiResult<"answer">> {
  const root = question.slice(0, Math.max(question.lastIndexOf("#"), 0));
  if (!isVisible(runtime.kernel.records, caller, root)) {
    throw questionNotFound();
  }
  refuseRequester(runtime.kernel.records, caller, root);
  await answerQuestion(runtime, question, { ...given, by: caller.principal });
  return { question, decision: given.decision };
}

/** Whoever asked does not decide, whatever the host lets programs do: the agents above the call, and the program that began them (B26). */
function refuseRequester(records: RootRecords, { principal }: Caller, root: RootAddress): void {
  if (principal.kind !== "program" && principal.kind !== "agent") return;
  const agents = sessionsAbove(records, root).map((session) => session.replace(/^session\//, "agent:"));
  if (![...agents, ownerOf(records, root)].includes(principalText(principal))) return;
  throw new ApiFailure("approver_in_chain", "Who asked for this may not decide it: somebody else does");
}
