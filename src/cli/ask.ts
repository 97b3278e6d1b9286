/** Asks a person at the terminal, or answers as the command line ordered. */
import {
  type Decision,
  needsNote,
  noteCharactersMax,
  offeredBy,
  type QuestionKind,
} from "../../schemas/question.ts";
import { localOperator } from "../../schemas/principal.ts";
import type { GivenAnswer, OpenQuestion } from "../effects/question_ask.ts";
import type { ActingHost } from "../host/host.ts";
import { visible } from "../tools/visible.ts";
import { formRows, hasDefaults, typeForm } from "./ask_form.ts";
import type { Cli } from "./cli.ts";
import { reportError } from "./exit.ts";
import { safeText } from "./terminal.ts";

/** What `--answer` orders: a decision for every approval, or to leave questions to `troupe answer`. */
export type StandingAnswer = "allow" | "deny" | "wait";

/** Answers that come faster were typed before the question was read, in milliseconds. */
const readingMs = 150;

/** How each decision is typed. */
const keys: { readonly [K in Decision]: string } = {
  allow: "a",
  deny: "d",
  always_allow_for_session: "s",
  run_again: "r",
  mark_applied: "y",
  mark_not_applied: "n",
  abandon: "g",
  accept: "a",
  decline: "d",
  cancel: "c",
};

/** What each decision means, in the words of the prompt. */
const meanings: { readonly [K in Decision]: string } = {
  allow: "allow",
  deny: "deny",
  always_allow_for_session: "always allow this for the session",
  run_again: "run it again",
  mark_applied: "it was applied",
  mark_not_applied: "it was not applied",
  abandon: "give it up",
  accept: "answer it",
  decline: "decline",
  cancel: "say nothing",
};

/** Who answers the questions of one session, from now on until `stop`. */
export interface Asker {
  /** Takes a question; shown after those that came before. */
  take(question: OpenQuestion): void;
  /** The question is not open any more, whoever closed it. */
  closed(id: string): void;
  stop(): void;
}

/** Options of {@linkcode createAsker}. */
export interface AskerOptions {
  readonly cli: Pick<Cli, "terminal" | "seams">;
  readonly host: Pick<ActingHost, "answer">;
  readonly standing: StandingAnswer | undefined;
  /** Told of a question that nobody here can answer. */
  readonly onUnanswerable: (question: OpenQuestion) => void;
}

/** Makes the asker of a command: the standing answer if there is one, else the person at the terminal. */
export function createAsker(options: AskerOptions): Asker {
  const { standing, cli } = options;
  if (standing === undefined) return new TerminalAsker(options);
  return {
    take: (question) => {
      if (standing === "wait") {
        const words = question.subject.kind === "elicitation" ? "accept|decline" : "allow|deny";
        return cli.terminal.err.line(`A question waits: troupe answer ${question.id} ${words}`);
      }
      if (question.subject.kind === "elicitation") return void answerServer(options, question, standing);
      if (question.subject.kind === "uncertain") return options.onUnanswerable(question);
      give(options, question, { decision: standing, note: `--answer ${standing}` });
    },
    closed: () => {},
    stop: () => {},
  };
}

/** As ordered: a form is sent with its defaults if those are enough, and a page that nobody opens is declined. */
function answerServer(
  options: AskerOptions,
  question: OpenQuestion,
  standing: "allow" | "deny",
): Promise<boolean> {
  const fields = question.subject.elicitation?.fields;
  const accepts = standing === "allow" && fields !== undefined && hasDefaults(fields);
  return give(options, question, { decision: accepts ? "accept" : "decline", note: `--answer ${standing}` });
}

/** What is answered, besides by whom and to what. */
type Said = Pick<GivenAnswer, "decision" | "note" | "content">;

/** Gives an answer. False if what was filled in cannot be sent: then the question is still open. */
async function give(options: AskerOptions, question: OpenQuestion, said: Said): Promise<boolean> {
  const answer = { ...said, by: localOperator, shown: question.shown };
  try {
    await options.host.answer(question.id, answer);
  } catch (error) {
    // Somebody else was faster, or it was withdrawn: the journal says what counted.
    const { code, message } = reportError(error);
    options.cli.terminal.err.line(safeText(message));
    return code !== "form_invalid" && code !== "form_secret";
  }
  return true;
}

class TerminalAsker implements Asker {
  readonly #options: AskerOptions;
  readonly #waiting: OpenQuestion[] = [];
  #current: { readonly id: string; readonly abort: AbortController } | undefined;
  #isStopped = false;

  constructor(options: AskerOptions) {
    this.#options = options;
  }

  take(question: OpenQuestion): void {
    this.#waiting.push(question);
    this.#next();
  }

  closed(id: string): void {
    const index = this.#waiting.findIndex((question) => question.id === id);
    if (index >= 0) this.#waiting.splice(index, 1);
    if (this.#current?.id === id) this.#current.abort.abort();
  }

  stop(): void {
    this.#isStopped = true;
    this.#waiting.length = 0;
    this.#current?.abort.abort();
  }

  async #next(): Promise<void> {
    if (this.#current !== undefined || this.#isStopped) return;
    const question = this.#waiting.shift();
    if (question === undefined) return;
    const abort = new AbortController();
    this.#current = { id: question.id, abort };
    for (let isGiven = false; !isGiven;) {
      const answer = await this.#ask(question, abort.signal);
      if (answer !== undefined) {
        isGiven = await give(this.#options, question, answer);
        continue;
      }
      if (!abort.signal.aborted) this.#options.onUnanswerable(question);
      break;
    }
    this.#current = undefined;
    this.#next();
  }

  /** The answer, with what was typed into a form; undefined if the question was closed, or nobody can answer it. */
  async #ask(
    question: OpenQuestion,
    signal: AbortSignal,
  ): Promise<Said | undefined> {
    const decision = await this.#decide(question, signal);
    if (decision !== undefined && needsNote(decision)) {
      const note = await this.#note(signal);
      return note === undefined ? undefined : { decision, note };
    }
    const fields = question.subject.elicitation?.fields;
    if (decision !== "accept" || fields === undefined) {
      return decision === undefined ? undefined : { decision };
    }
    const { terminal } = this.#options.cli;
    const readLine = (stop: AbortSignal) => terminal.readLine(stop);
    const content = await typeForm({ err: terminal.err, readLine }, fields, signal);
    if (content !== undefined) return { decision, content };
    return signal.aborted ? undefined : { decision: "cancel" };
  }

  /** How the person knows what became of a call (R11); undefined if the question was closed, or the input ended. */
  async #note(signal: AbortSignal): Promise<string | undefined> {
    const { terminal } = this.#options.cli;
    while (!signal.aborted) {
      terminal.err.write(`  how do you know? (1 to ${noteCharactersMax} characters, for the journal): `);
      const line = (await terminal.readLine(signal))?.trim();
      if (line === undefined) return undefined;
      if (line.length > 0 && line.length <= noteCharactersMax) return line;
    }
    return undefined;
  }

  /** The decision; undefined if the question was closed, or the end of input answers nothing that is harmless. */
  async #decide(question: OpenQuestion, signal: AbortSignal): Promise<Decision | undefined> {
    const { terminal, seams } = this.#options.cli;
    const { err } = terminal;
    const offered = offeredBy(question.subject);
    for (const line of describeQuestion(question, "whole")) err.line(line);
    while (!signal.aborted) {
      const choices = offered.map((decision) => `${err.style.bold(keys[decision])} ${meanings[decision]}`)
        .join(", ");
      err.write(`  ${choices}: `);
      const shownAt = seams.clock.now();
      const line = await terminal.readLine(signal);
      if (line === undefined) {
        if (signal.aborted || question.subject.kind === "uncertain") return undefined;
        return question.subject.kind === "elicitation" ? "cancel" : "deny";
      }
      const given = line.trim().toLowerCase();
      const decision = offered.find((one) => keys[one] === given || one === given);
      if (decision !== undefined && seams.clock.now() - shownAt >= readingMs) return decision;
    }
    return undefined;
  }
}

/** What a person is asked, by kind. */
const asked: { readonly [K in QuestionKind]: string } = {
  approval: "May this be called?",
  uncertain: "This call may have happened. What is true?",
  connect: "May this server be started?",
  elicitation: "A server wants an answer. Give it nothing that it must not know",
  sampling: "A server wants the agent's model to answer it. May it?",
};

/**
 * The question as a card. Everything in it was bounded and masked before; what acts on a terminal is made visible.
 * `whole`: all that is approved, however long; `short`: its preview, with what is left out counted.
 */
export function describeQuestion(question: OpenQuestion, extent: "whole" | "short"): readonly string[] {
  const { id, path, subject, whole, shown } = question;
  const { kind, tool, title, risk, reason, preview } = subject;
  const text = extent === "whole" ? whole ?? preview : preview;
  const argumentRows = kind === "connect"
    ? connectRows(preview)
    : [[kind === "sampling" ? "texts" : "arguments", text] as const];
  const rows: readonly (readonly [name: string, value: string])[] = [
    ...(path === undefined ? [] : [["asked by", path.join(" > ")] as const]),
    ["tool", `${tool} (${title})`],
    ["risk", risk],
    ["because", reason],
    ...(kind === "elicitation"
      ? formRows(subject)
      : [...argumentRows, ["length", lengthText(question, extent)] as const]),
    ["hash", shown],
    ...(kind === "approval" ? [["always", alwaysText(subject)] as const] : []),
    ["question", id],
  ];
  const isOfAgent = subject.elicitation !== undefined && subject.elicitation.server === undefined;
  const heading = isOfAgent ? "The agent asks you. Give it nothing that it must not know" : asked[kind];
  return ["", `  ${heading}`, ...rows.map(([name, value]) => `  ${name.padEnd(9)}  ${visible(value)}`)];
}

function lengthText({ id, whole, subject }: OpenQuestion, extent: "whole" | "short"): string {
  if (whole === undefined) return `${subject.preview.length} characters`;
  const words = `${whole.length} characters`;
  return extent === "whole" ? words : `${words}, of which a part is shown: troupe questions ${id} shows all`;
}

function alwaysText({ rule, once, ...subject }: OpenQuestion["subject"]): string {
  if (!offeredBy(subject).includes("always_allow_for_session")) {
    return "is not offered: no rule says exactly what would be allowed";
  }
  return once === undefined
    ? `would allow: ${rule}`
    : "counts for this call only: a secret is bound anew each time";
}

/** The preview of a server's start is lines of `name: value`. */
function connectRows(preview: string): readonly (readonly [name: string, value: string])[] {
  return preview.split("\n").filter((line) => line !== "").map((line) => {
    const [name = "", ...rest] = line.split(": ");
    return [name, rest.join(": ")];
  });
}
