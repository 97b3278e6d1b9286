/** `question.ask`: keeps the questions that are open, and takes answers from whoever may give them. */
import { fillForm } from "../../actors/form.ts";
import { failure } from "../../schemas/failure.ts";
import type { FormContent } from "../../schemas/form.ts";
import { type IntentId, intentKey, type RootAddress } from "../../schemas/ids.ts";
import {
  type Answer,
  type Decision,
  needsNote,
  offeredBy,
  type QuestionSubject,
} from "../../schemas/question.ts";
import type { Principal } from "../../schemas/principal.ts";
import type { Json } from "../../schemas/json.ts";
import { canonicalBytes, throughJson } from "../canonical.ts";
import type { Seams } from "../seams.ts";
import { KernelError } from "../kernel/kernel.ts";
import { runUntil } from "./deadline.ts";
import type { Performer, PerformerResult } from "./performer.ts";

/** A question that waits for a person. Shown only once its unit is durable (K3). */
export interface OpenQuestion {
  /** `<address>#<seq>.<n>`. */
  readonly id: string;
  readonly root: RootAddress;
  /** If a child agent asks: the names from the root's session down to its own. */
  readonly path?: readonly string[] | undefined;
  readonly subject: QuestionSubject;
  /** Everything of which the subject shows a part; absent if it shows all. */
  readonly whole?: string | undefined;
  /** Hash of the subject and the whole: an answer must carry it. */
  readonly shown: string;
  readonly deadlineAtMs: number;
}

/** What a person answered. */
export interface GivenAnswer {
  readonly decision: Decision;
  readonly by: Principal;
  /** Hash of what was shown. Without it only a question that is closed already can be told about. */
  readonly shown?: string | undefined;
  readonly note?: string | undefined;
  /** What was filled in, with `accept` of a form; defaults stand for what is left out. */
  readonly content?: { readonly [name: string]: unknown } | undefined;
}

/** What became of a question that is not open, as its journal tells: see `closed_question.ts`. */
export type ClosedQuestion =
  | { readonly end: "answered"; readonly decision: Decision; readonly by: Principal }
  | { readonly end: "expired" | "withdrawn" };

/** The same where the journal tells of no end yet. */
export type FoundQuestion = ClosedQuestion | { readonly end: "unrecorded" };

/** Options of {@linkcode QuestionDesk}. */
export interface QuestionDeskOptions {
  readonly seams: Seams;
  /** False if nobody will ever answer: every question is then refused at once (design.md section 8). */
  readonly hasAnswerer: () => boolean;
  /** Who may answer a question. By default persons: nobody that a model may speak through (B26). */
  readonly mayAnswer?: ((by: Principal, question: OpenQuestion) => boolean) | undefined;
  /** Looks a question up that is not open here; undefined if there never was one. */
  readonly findClosed: (id: string) => Promise<FoundQuestion | undefined>;
  /** True for a text that holds a secret: it is not given to a server, or to the agent, by a form. */
  readonly isSecret?: ((text: string) => boolean) | undefined;
  /** Names the sessions down to a child agent's; undefined for roots of other sessions. */
  readonly pathOf?: ((root: RootAddress) => readonly string[] | undefined) | undefined;
  /** Resolves once no call is held open any more that waits for an answer. */
  readonly untilGone?: ((root: RootAddress, call: IntentId) => Promise<void>) | undefined;
}

interface Waiting {
  readonly question: OpenQuestion;
  readonly settle: (answer: Answer | "gone") => void;
}

/** The questions of one runtime. */
export class QuestionDesk {
  readonly #options: QuestionDeskOptions;
  readonly #open = new Map<string, Waiting>();
  /** Answers that were taken and may not be in the journal yet: the latest, oldest first. */
  readonly #taken = new Map<string, ClosedQuestion>();
  readonly #listeners = new Set<(question: OpenQuestion) => void>();
  readonly #closedListeners = new Set<(question: OpenQuestion) => void>();

  constructor(options: QuestionDeskOptions) {
    this.#options = options;
  }

  /** Questions that are open, oldest first. */
  list(): readonly OpenQuestion[] {
    return [...this.#open.values()].map((one) => one.question);
  }

  /** Hears of every question as it opens; those that are open already at once. Returns how to stop. */
  listen(listener: (question: OpenQuestion) => void): () => void {
    this.#listeners.add(listener);
    for (const question of this.list()) listener(question);
    return () => this.#listeners.delete(listener);
  }

  /** Hears of every question that is open no more, however it ended. Returns how to stop. */
  listenClosed(listener: (question: OpenQuestion) => void): () => void {
    this.#closedListeners.add(listener);
    return () => this.#closedListeners.delete(listener);
  }

  /**
   * Answers a question. The first answer counts; the same one again, by the same principal, is no other (B24). Refused if
   * something else was shown, if there is no such decision, if the principal may not decide, or if the question is over.
   */
  async answer(id: string, given: GivenAnswer): Promise<void> {
    const open = this.#open.get(id);
    if (open === undefined) return refuseClosed(id, given, await this.#closed(id));
    this.#check(open.question, given);
    const filled = this.#filled(open.question, given);
    this.#take(id, open, given, filled);
  }

  /** Refuses in the name of the host: nobody is there who could be asked. No other answer can be given like this. */
  deny(id: string, by: Principal, note: string): void {
    const open = this.#open.get(id);
    if (open !== undefined) this.#take(id, open, { decision: "deny", by, shown: open.question.shown, note });
  }

  /** Performs one question: opens it, and ends with the answer, the deadline, or the machine's withdrawal. */
  readonly perform: Performer<"question.ask"> = async ({ root, id, request, signal }) => {
    const { subject, whole } = request.args;
    const { seams, hasAnswerer } = this.#options;
    if (!hasAnswerer()) return unavailable();
    const name = intentKey(root, id);
    const deadlineAtMs = request.deadlineAtMs ?? Infinity;
    const all = whole === undefined ? subject : { subject, whole };
    const shown = await seams.digest(canonicalBytes(all as unknown as Json));
    const ended = await runUntil(
      { clock: seams.clock, deadlineAtMs, signal },
      () =>
        new Promise<Answer | "gone">((settle) => {
          const text = whole === undefined ? {} : { whole };
          const path = this.#options.pathOf?.(root);
          const from = path === undefined ? {} : { path };
          const question = { id: name, root, ...from, subject, ...text, shown, deadlineAtMs };
          this.#open.set(name, { question, settle });
          for (const listener of this.#listeners) listener(question);
          const held = subject.elicitation?.held;
          if (held !== undefined) this.#options.untilGone?.(root, held).then(() => settle("gone"));
        }),
    );
    this.#close(name);
    switch (ended.type) {
      case "done":
        if (ended.value === "gone") return unwanted();
        return { status: "ok", value: throughJson(ended.value) as unknown as Json };
      case "late":
        return { status: "timed_out", failure: failure("approval_expired", "Nobody answered in time") };
      case "canceled":
        return { status: "canceled", failure: failure("approval_withdrawn", "The question was withdrawn") };
      case "threw":
        throw ended.error;
    }
  };

  #check(question: OpenQuestion, { decision, by, shown, note }: GivenAnswer): void {
    const { id, subject } = question;
    const mayAnswer = this.#options.mayAnswer ?? isPerson;
    if (!mayAnswer(by, question)) {
      throw new KernelError(
        "answerer_refused",
        `A ${by.kind} may not answer "${id}": a person decides, with troupe answer`,
      );
    }
    if (shown === undefined) {
      throw new KernelError("question_unread", `Look at "${id}" first: the answer says what was shown`);
    }
    if (shown !== question.shown) {
      throw new KernelError("question_changed", `Question "${id}" shows something else: look at it again`);
    }
    const offered = offeredBy(subject);
    if (!offered.includes(decision)) {
      throw new KernelError("decision_not_offered", `Question "${id}" takes ${offered.join(", ")}`);
    }
    if (needsNote(decision) && (note ?? "").trim() === "") {
      throw new KernelError(
        "note_required",
        `Say how you know: "${decision}" settles a call that may have happened, and is recorded with a note (--note TEXT)`,
      );
    }
  }

  /** A form as it is sent: complete, of the kinds that its fields have, and without secrets. */
  #filled({ id, subject }: OpenQuestion, { decision, content }: GivenAnswer): FormContent | undefined {
    const fields = subject.elicitation?.fields;
    if (decision !== "accept" || fields === undefined) {
      if (content === undefined) return undefined;
      throw new KernelError(
        "form_invalid",
        `Question "${id}" takes no values with ${decision}: leave them out`,
      );
    }
    const filled = fillForm(fields, content ?? {});
    if ("problems" in filled) {
      const problems = filled.problems.join("; ");
      throw new KernelError(
        "form_invalid",
        `The form of "${id}" cannot be sent: ${problems}; answer it again`,
      );
    }
    const secret = Object.entries(filled.content).find(([, value]) =>
      this.#options.isSecret?.(typeof value === "string" ? value : JSON.stringify(value))
    );
    if (secret === undefined) return filled.content;
    throw new KernelError(
      "form_secret",
      `The value of "${
        secret[0]
      }" looks like a secret, and secrets are never given by a form: leave it out, or decline`,
    );
  }

  #take(
    id: string,
    { question, settle }: Waiting,
    { decision, by, note }: GivenAnswer,
    content?: FormContent,
  ): void {
    this.#close(id);
    this.#taken.set(id, { end: "answered", decision, by });
    if (this.#taken.size > takenMax) {
      for (const oldest of this.#taken.keys()) {
        this.#taken.delete(oldest);
        break;
      }
    }
    const more = { ...(note === undefined ? {} : { note }), ...(content === undefined ? {} : { content }) };
    settle({ decision, by, shown: question.shown, ...more });
  }

  #close(id: string): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    this.#open.delete(id);
    for (const listener of this.#closedListeners) listener(open.question);
  }

  /** The journal's word counts: an answer that was taken may have come too late for its call. */
  async #closed(id: string): Promise<ClosedQuestion | undefined> {
    const found = await this.#options.findClosed(id);
    return found?.end === "unrecorded" ? this.#taken.get(id) ?? { end: "withdrawn" } : found;
  }
}

/** Taken answers that are remembered; older ones are in the journal long since. */
const takenMax = 1_000;

/** Agents and programs may act for whoever asked: they approve nothing (B26). */
function isPerson({ kind }: Principal): boolean {
  return kind === "operator" || kind === "user";
}

/** Says what became of a question that somebody answers too late. Silent if the same was said before (B24, B25). */
function refuseClosed(id: string, { decision, by }: GivenAnswer, closed: ClosedQuestion | undefined): void {
  if (closed === undefined) {
    throw new KernelError("question_not_found", `There is no question "${id}": see troupe questions`);
  }
  switch (closed.end) {
    case "answered": {
      const { by: winner } = closed;
      const isSame = closed.decision === decision && winner.kind === by.kind && winner.id === by.id;
      if (isSame) return;
      throw new KernelError(
        "question_answered",
        `Question "${id}" was answered already: ${closed.decision} by ${winner.kind} ${winner.id}`,
      );
    }
    case "expired":
      throw new KernelError("approval_expired", `Question "${id}" expired: nobody answered in time`);
    case "withdrawn":
      throw new KernelError(
        "approval_stale",
        `Nobody waits for "${id}" any more: its call was canceled, or what it was about has changed`,
      );
  }
}

/** The call that a server held open has ended, or went with an earlier runtime. */
function unwanted(): PerformerResult {
  const why = failure("approval_stale", "Nobody waits for an answer any more: the call has ended");
  return { status: "failed", failure: why };
}

function unavailable(): PerformerResult {
  return { status: "failed", failure: failure("approval_unavailable", "Nobody is there to be asked") };
}
