/** Who answers questions: the givers of prompts, each for its own session. */
import type { RootAddress } from "../../schemas/ids.ts";
import type { Principal } from "../../schemas/principal.ts";
import type { QuestionDesk } from "../effects/question_ask.ts";

/** Who denies when nobody is there who could answer. */
const nobody: Principal = { kind: "program", id: "no-answerer" };

/** Keeps account of those who gave prompts, and of whether they answer questions. */
export class Answerers {
  readonly #givers = new Map<RootAddress, Set<{ readonly answers: boolean }>>();

  /** Counts the giver of a prompt until the returned function is called. */
  add(root: RootAddress, answers: boolean): () => void {
    const giver = { answers };
    const givers = this.#givers.get(root) ?? new Set();
    givers.add(giver);
    this.#givers.set(root, givers);
    return () => {
      givers.delete(giver);
      if (givers.size === 0 && this.#givers.get(root) === givers) this.#givers.delete(root);
    };
  }

  /** True if anybody answers questions at all. */
  get areThere(): boolean {
    return [...this.#givers.keys()].some((root) => this.#answers(root));
  }

  /**
   * Denies questions of a session whose givers all said that they do not answer: silence never permits anything, and
   * need not last an hour. A question of a session without a giver stays open for `troupe answer`. Who answers for a
   * session answers for the child agents below it too: `sessionsAbove` names a root's session and those above it.
   */
  denyUnheard(desk: QuestionDesk, sessionsAbove: (root: RootAddress) => readonly RootAddress[]): () => void {
    return desk.listen((question) => {
      if (question.subject.kind === "uncertain") return;
      const given = sessionsAbove(question.root).filter((session) => this.#givers.has(session));
      if (given.length === 0 || given.some((session) => this.#answers(session))) return;
      desk.deny(question.id, nobody, "Nobody is there who answers questions");
    });
  }

  #answers(root: RootAddress): boolean {
    return [...this.#givers.get(root) ?? []].some((giver) => giver.answers);
  }
}
