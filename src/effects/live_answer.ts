/** What is shown of an answer while it comes: its text without secrets, and which tools it calls. */
import type { ModelEvent } from "../../schemas/model.ts";
import type { Redactor } from "../redact/redactor.ts";
import type { StreamRedactor } from "../redact/stream_redactor.ts";

/**
 * Passes a provider's events on to those who watch. Text that may be the beginning of a secret is held back until that
 * is decided; arguments of calls are shown once the call stands in the journal.
 */
export class LiveAnswer {
  readonly #text: StreamRedactor;
  readonly #show: (event: ModelEvent) => void;

  constructor(redactor: Redactor, show: (event: ModelEvent) => void) {
    this.#text = redactor.stream("operator");
    this.#show = show;
  }

  take(event: ModelEvent): void {
    switch (event.type) {
      case "text_delta":
        return this.#say(this.#text.push(event.text));
      case "tool_call_delta": {
        const { argumentsDelta: _, ...rest } = event;
        return this.#show(rest);
      }
      case "tool_call_done":
        return this.#show({ ...event, arguments: {} });
      case "usage":
        return this.#show(event);
      case "done":
        this.#say(this.#text.flush());
        return this.#show({ type: "done", finishReason: event.finishReason });
    }
  }

  #say(text: string): void {
    if (text !== "") this.#show({ type: "text_delta", text });
  }
}
