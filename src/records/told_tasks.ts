/** Of which ends of tasks a session's model was told: by a notice, or by a result (LC-28). */
import type { Entry } from "../../schemas/entry.ts";
import { peekList, peekText } from "../peek.ts";

/** Reads a session's stream. */
export class ToldTasks {
  readonly #told = new Set<string>();

  take({ kind, type, body }: Entry): void {
    if (kind === "intent" && type === "model.generate") {
      for (const item of peekList(body, "args", "append")) {
        const about = peekText(item, "about");
        if (about.startsWith("task ")) this.#told.add(about.slice("task ".length));
      }
    }
    if (kind === "outcome" && type === "tool.call") {
      for (const task of peekList(body, "value", "told")) this.#told.add(String(task));
    }
  }

  has(task: string): boolean {
    return this.#told.has(task);
  }
}
