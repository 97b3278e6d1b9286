/** What the model is told of requests of a server that no person answered. */
import type { RequestAnswer, ServerRequest } from "../schemas/call_pause.ts";
import { limits } from "../schemas/limits.ts";

/** Why no person answered, for the model, which may have waited for an answer. */
export function toldOf(
  { request, action, via }: {
    readonly request: ServerRequest;
    readonly action: RequestAnswer["action"];
    readonly via: string;
  },
  server: string,
): string {
  const why = request.kind === "refused" ? request.why.message : reasons[via] ?? `the question was ${via}`;
  const words = `The server "${server}" asked for something first, and got "${action}": ${why}`;
  return words.slice(0, limits.mcpRequestToldCharactersMax);
}

const reasons: { readonly [via: string]: string } = {
  unavailable: "nobody is there to be asked",
  expired: "nobody answered in time",
  withdrawn: "nobody waited for the answer any more",
  exhausted: "it had the model answer as often as its manifest allows within one call",
  limited: "too many questions were asked in a short time",
};
