/** What a session's models said, read off its journal as a script: the run can then be played again without them. */
import type { Entry } from "../../schemas/entry.ts";
import type { ModelAnswer, ModelMessage } from "../../schemas/model.ts";
import { ModelErrorCode, type Script, type ScriptedAnswer } from "../../schemas/script.ts";
import { ConversationFold } from "../effects/conversation_fold.ts";
import { requestMessages } from "../effects/request_messages.ts";
import { peek, peekList, peekText } from "../peek.ts";

/** What of a run a script cannot say. */
export interface ScriptLosses {
  /** Calls whose arguments held a secret: the script has them without it. */
  secrets: number;
  /** Failures of models after which no answer came, or another model's. */
  failures: number;
  /** Conversations that begin like another one, and were answered otherwise. */
  doubles: number;
}

interface Asked {
  readonly model: string;
  readonly attempt: number;
}

interface Failed {
  readonly code: string;
  readonly message: string;
  readonly retryAfterMs: number | undefined;
  /** The tool whose schema it is about. */
  readonly tool: string;
}

/** Takes the entries of one session in order. */
export class ScriptFold {
  readonly losses = { secrets: 0, failures: 0 };
  /** What its servers asked the model, and were told. */
  readonly samples: { readonly prompt: string; readonly number: number; readonly answer: ScriptedAnswer }[] =
    [];
  readonly #conversation = new ConversationFold();
  readonly #answers: ScriptedAnswer[] = [];
  readonly #asked = new Map<string, Asked>();
  readonly #sampled = new Map<string, { readonly prompt: string; readonly number: number }>();
  #failed: Failed[] = [];

  /** Answers in the order in which they were given. */
  get answers(): readonly ScriptedAnswer[] {
    return this.#answers;
  }

  /** What its user said first; undefined if nothing was said. */
  get prompt(): string | undefined {
    return requestMessages(this.#conversation.messages).find(({ role }) => role === "user")?.text;
  }

  take(entry: Entry): void {
    this.#conversation.take(entry);
    const { kind, type, body } = entry;
    if (kind === "intent" && type === "model.generate") this.#ask(entry);
    if (kind === "intent" && type === "model.sample") this.#askSample(entry);
    if (kind === "outcome" && type === "model.generate") this.#hear(body);
    if (kind === "outcome" && type === "model.sample") this.#hearSample(body);
  }

  /** Nothing more comes: failures after which nothing was said are in no answer. */
  end(): void {
    this.losses.failures += this.#failed.length;
    this.#failed = [];
  }

  #ask(entry: Entry): void {
    const { body } = entry;
    const attempt = Number(peek(body, "args", "attempt") ?? 1);
    this.#asked.set(idOf(entry), { model: peekText(body, "args", "model"), attempt });
    // A first attempt has no failure of its own before it: what went before was another turn's, or another model's.
    if (attempt === 1) this.end();
  }

  #hear(body: Entry["body"]): void {
    const asked = this.#asked.get(peekText(body, "id"));
    if (asked === undefined) return;
    const status = peekText(body, "status");
    if (status === "failed") this.#failed.push(failedOf(body));
    if (status !== "ok") return;
    const { text, calls, usage, finishReason } = peek(body, "value") as unknown as ModelAnswer;
    this.losses.secrets += calls.filter(({ hadSecret }) => hadSecret !== undefined).length;
    const fail = this.#failure();
    const number = this.#conversation.messages.filter(({ role }) => role === "assistant").length;
    // A step that was asked again has its answer in the place of the one before.
    this.#answers.length = Math.min(this.#answers.length, number - 1);
    this.#answers.push({
      ...(text === "" ? {} : { text }),
      ...(calls.length === 0 ? {} : { calls: calls.map(callOf) }),
      ...(usage.inputTokens + usage.outputTokens === 0 && usage.costUsd === undefined ? {} : { usage }),
      finish_reason: finishReason,
      ...(fail === undefined ? {} : { fail }),
    });
  }

  /** The failures before an answer, if a script can say them: all alike, of codes that a provider may report. */
  #failure(): ScriptedAnswer["fail"] {
    const failed = this.#failed;
    this.#failed = [];
    const [first] = failed;
    if (first === undefined) return undefined;
    const code = ModelErrorCode.safeParse(first.code);
    if (!code.success || failed.some((one) => one.code !== first.code || one.tool !== first.tool)) {
      this.losses.failures += failed.length;
      return undefined;
    }
    const { message, retryAfterMs, tool } = first;
    return {
      code: code.data,
      message: message.slice(0, 1_000),
      times: failed.length,
      ...(tool === "" ? {} : { tool }),
      ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }),
    };
  }

  #askSample(entry: Entry): void {
    const { body } = entry;
    const messages = peekList(body, "args", "messages") as unknown as readonly ModelMessage[];
    const prompt = messages.find(({ role }) => role === "user")?.text;
    const number = messages.filter(({ role }) => role === "assistant").length + 1;
    if (prompt !== undefined) this.#sampled.set(idOf(entry), { prompt, number });
  }

  #hearSample(body: Entry["body"]): void {
    const asked = this.#sampled.get(peekText(body, "id"));
    if (asked === undefined || peekText(body, "status") !== "ok") return;
    const { text, stopReason, usage } = peek(body, "value") as unknown as {
      readonly text: string;
      readonly stopReason: string;
      readonly usage: ModelAnswer["usage"];
    };
    const finish_reason = stopReason === "maxTokens" ? "length" : "stop";
    this.samples.push({ ...asked, answer: { text, usage, finish_reason } });
  }
}

/** The id of an intent, by which its outcome names it. */
function idOf({ cause, body }: Entry): string {
  return `${cause}.${peekText(body, "n")}`;
}

function callOf({ callId, name, arguments: given, argumentsText }: ModelAnswer["calls"][number]) {
  return {
    tool: name,
    id: callId,
    ...(given === undefined ? {} : { arguments: given }),
    ...(argumentsText === undefined ? {} : { arguments_text: argumentsText }),
  };
}

function failedOf(body: Entry["body"]): Failed {
  const told = peek(body, "failure", "retryAfterMs");
  return {
    code: peekText(body, "failure", "code"),
    message: peekText(body, "failure", "message"),
    tool: peekText(body, "failure", "tool"),
    retryAfterMs: typeof told === "number" ? told : undefined,
  };
}

/** One script for a session and those below it. The session's own answers come first; the others are known by how they begin. */
export function composeScript(
  own: ScriptFold,
  others: readonly ScriptFold[],
): { readonly script: Script; readonly losses: ScriptLosses } {
  const losses: ScriptLosses = { secrets: 0, failures: 0, doubles: 0 };
  const conversations = new Map<string, ScriptedAnswer[]>();
  for (const fold of [own, ...others]) {
    losses.secrets += fold.losses.secrets;
    losses.failures += fold.losses.failures;
    if (fold !== own) losses.doubles += addConversation(conversations, fold.prompt, fold.answers);
    for (const { prompt, number, answer } of fold.samples) {
      const known = conversations.get(prompt) ?? [];
      conversations.set(prompt, known);
      if (known.length === number - 1) known.push(answer);
      else if (JSON.stringify(known[number - 1]) !== JSON.stringify(answer)) losses.doubles += 1;
    }
  }
  const told = [...conversations].map(([prompt, answers]) => ({ prompt, answers }));
  const script: Script = { capabilities: {}, answers: [...own.answers] };
  return { script: told.length === 0 ? script : { ...script, conversations: told }, losses };
}

/** Gives how many conversations have no place, because one that begins alike is there and says something else. */
function addConversation(
  conversations: Map<string, ScriptedAnswer[]>,
  prompt: string | undefined,
  answers: readonly ScriptedAnswer[],
): number {
  if (prompt === undefined || answers.length === 0) return 0;
  const known = conversations.get(prompt);
  if (known === undefined) conversations.set(prompt, [...answers]);
  return known === undefined || JSON.stringify(known) === JSON.stringify(answers) ? 0 : 1;
}
