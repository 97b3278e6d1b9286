/** What a person is asked during a call, for its server or for the agent. */
import type { ServerRequest } from "../schemas/call_pause.ts";
import type { QuestionSubject } from "../schemas/question.ts";
import type { Opening } from "./inquiry.ts";
import type { InvocationContext } from "./invocation_context.ts";
import { openRequestOf } from "./invocation_rounds.ts";
import { entryIn } from "./invocation_rules.ts";

type Askable = Exclude<ServerRequest, { readonly kind: "refused" }>;

/** Longest text that a question shows without being asked for all of it. */
const previewCharactersMax = 2_000;

const consequences: { readonly [K in Askable["kind"]]: string } = {
  form: "what you answer is sent to it",
  url: "what you do on that page is between you and it",
  sampling: "the agent's model answers these texts, and its answer is sent to the server",
};

/** What a person is asked: who asks, in its own words, and what may be answered. */
export function requestInquiry(context: InvocationContext): Opening {
  const { pause, request: { ordinal }, at, epoch } = context;
  const wanted = openRequestOf(pause);
  if (pause === undefined || pause === null || wanted === undefined || wanted.kind === "refused") {
    throw new Error("Cannot ask a person during a call: no request is open");
  }
  const { server, how } = pause.wants;
  const entry = entryIn(context);
  const text = textOf(wanted);
  const isWhole = text.length <= previewCharactersMax || wanted.kind !== "sampling";
  const subject: QuestionSubject = {
    kind: wanted.kind === "sampling" ? "sampling" : "elicitation",
    invocation: ordinal,
    tool: entry.canonicalName,
    title: entry.definition.title.slice(0, 200),
    risk: entry.definition.riskLevel,
    reason: server === undefined
      ? "the agent asks you; it is told what you answer"
      : `the server "${server}" asks during this call; ${consequences[wanted.kind]}`,
    preview: isWhole ? text : `${text.slice(0, previewCharactersMax)}…`,
    rule: "",
    ...(isWhole ? {} : { characters: text.length }),
    elicitation: {
      ...(server === undefined ? {} : { server }),
      ...(wanted.kind === "form" ? { fields: wanted.fields } : {}),
      ...(wanted.kind === "url" ? { url: wanted.url } : {}),
      ...(how === "held" ? { held: context.firstIntent ?? pause.intent } : {}),
    },
  };
  const rest = { whole: isWhole ? null : text, scope: null, twin: "", entry: null };
  return { type: "question.open", ordinal, at, epoch, subject, ...rest };
}

/** What the server says: its message, or what the model is to answer. */
function textOf(wanted: Askable): string {
  if (wanted.kind !== "sampling") return wanted.message;
  const { system, messages } = wanted;
  const all = [...(system === undefined ? [] : [{ role: "system", text: system }]), ...messages];
  return all.map(({ role, text }) => `${role}: ${text}`).join("\n");
}
