/** `question.ask`: keeps the questions that are open, and takes answers from whoever may give them. */
import { failure } from "../../schemas/failure.ts";
import { intentKey, type RootAddress } from "../../schemas/ids.ts";
import {
  type Answer,
  type Decision,
  offeredDecisions,
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
  readonly subject: QuestionSubject;
  /** Hash of the subject: an answer must carry it. */
  readonly shown: string;
  readonly deadlineAtMs: number;
}

/** What a person answered. */
export interface GivenAnswer {
  readonly decision: Decision;
  readonly by: Principal;
  readonly shown: string;
  readonly note?: string | undefined;
}

/** The questions of one runtime. */
export class QuestionDesk {
  readonly #seams: Seams;
  readonly #open = new Map<
    string,
    { readonly question: OpenQuestion; readonly settle: (answer: Answer) => void }
  >();
  readonly #listeners = new Set<(question: OpenQuestion) => void>();
  /** False if nobody will ever answer: every question is then refused at once (design.md section 8). */
  readonly #hasAnswerer: () => boolean;

  constructor(seams: Seams, hasAnswerer: () => boolean) {
    this.#seams = seams;
    this.#hasAnswerer = hasAnswerer;
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

  /** Answers a question. Refused if it is not open, if something else was shown, or if it offers no such decision. */
  answer(id: string, given: GivenAnswer): void {
    const open = this.#open.get(id);
    if (open === undefined) {
      throw new KernelError(
        "question_not_found",
        `No question "${id}" is open: it was answered, withdrawn or expired`,
      );
    }
    if (given.shown !== open.question.shown) {
      throw new KernelError(
        "question_changed",
        `Question "${id}" shows something else now: look at it again`,
      );
    }
    const offered = offeredDecisions[open.question.subject.kind];
    if (!offered.includes(given.decision)) {
      throw new KernelError("decision_not_offered", `Question "${id}" takes ${offered.join(", ")}`);
    }
    this.#open.delete(id);
    const { note, ...answer } = given;
    open.settle(note === undefined ? answer : { ...answer, note });
  }

  /** Performs one question: opens it, and ends with the answer, the deadline, or the machine's withdrawal. */
  readonly perform: Performer<"question.ask"> = async ({ root, id, request, signal }) => {
    const { subject } = request.args;
    if (!this.#hasAnswerer()) return unavailable();
    const name = intentKey(root, id);
    const deadlineAtMs = request.deadlineAtMs ?? Infinity;
    const shown = await this.#seams.digest(canonicalBytes(subject as unknown as Json));
    const ended = await runUntil(
      { clock: this.#seams.clock, deadlineAtMs, signal },
      () =>
        new Promise<Answer>((settle) => {
          const question = { id: name, root, subject, shown, deadlineAtMs };
          this.#open.set(name, { question, settle });
          for (const listener of this.#listeners) listener(question);
        }),
    );
    this.#open.delete(name);
    switch (ended.type) {
      case "done":
        return { status: "ok", value: throughJson(ended.value) as unknown as Json };
      case "late":
        return { status: "timed_out", failure: failure("approval_expired", "Nobody answered in time") };
      case "canceled":
        return { status: "canceled", failure: failure("approval_withdrawn", "The question was withdrawn") };
      case "threw":
        throw ended.error;
    }
  };
}

function unavailable(): PerformerResult {
  return { status: "failed", failure: failure("approval_unavailable", "Nobody is there to be asked") };
}
