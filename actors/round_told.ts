/** What the journal and the model are told of the answers to requests of a server, or of a tool. */
import type { RequestAnswer, ServerRequest } from "../schemas/call_pause.ts";
import { limits } from "../schemas/limits.ts";
import type { Outgoing } from "../schemas/message.ts";
import type { InvocationContext } from "./invocation_context.ts";
import { entryIn } from "./invocation_rules.ts";

/** A request, and how it was answered. */
interface Told {
  readonly request: ServerRequest;
  readonly action: RequestAnswer["action"];
  readonly via: string;
}

/** The record of one answer: who asked, for what, and how the answer came about. */
export function answeredNote(
  context: InvocationContext,
  { request: { key, kind }, action, via }: Told,
  server: string | undefined,
): Outgoing {
  const { request: { ordinal }, round = 1 } = context;
  const asker = server === undefined ? { tool: entryIn(context).canonicalName } : { server };
  const type = server === undefined ? "tool.answered" : "server.answered";
  return { kind: "note", type, body: { ordinal, ...asker, key, kind, round, action, via } };
}

/** Why no person answered, for the model, which may have waited for an answer. */
export function toldOf({ request, action, via }: Told, server: string | undefined): string {
  const why = request.kind === "refused" ? request.why.message : reasons[via] ?? `the question was ${via}`;
  const words = server === undefined
    ? `No person answered: ${why}`
    : `The server "${server}" asked for something first, and got "${action}": ${why}`;
  return words.slice(0, limits.mcpRequestToldCharactersMax);
}

const reasons: { readonly [via: string]: string } = {
  unavailable: "nobody is there to be asked",
  expired: "nobody answered in time",
  withdrawn: "nobody waited for the answer any more",
  exhausted: "it had the model answer as often as its manifest allows within one call",
  budget_exhausted: "the budget of the session leaves nothing for the model",
  limited: "too many questions were asked in a short time",
};
