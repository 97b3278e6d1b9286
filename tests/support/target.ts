/** What a tool acts upon: outside of every runtime, so that it outlives each, and keeps what cannot be taken back. */
import { failure } from "../../schemas/failure.ts";
import type { ToolResultEnvelope } from "../../schemas/tool.ts";
import type { Performer, PerformerResult } from "../../src/effects/performer.ts";
import { errorEnvelope, textEnvelope, type ToolUseContext } from "../../src/tools/tool.ts";

/**
 * What becomes of a request: `answer`; `lose` it on its way; `swallow` the answer; `mute` says nothing even if it is
 * told to stop; `refuse` it as the tool's own no; `break` off after it was applied.
 */
export type Conduct = "answer" | "lose" | "swallow" | "mute" | "refuse" | "break";

/** A target with a ledger. */
export class Target {
  conduct: Conduct = "answer";
  /** What look-ups do: tell what is in the ledger, never answer, or fail. */
  looking: "answer" | "lose" | "fail" = "answer";
  /** The answer's text. */
  text = "charged";
  /** Keys of the requests that came, and of those that were applied, in their order. */
  readonly received: string[] = [];
  readonly applied: string[] = [];
  looks = 0;
  /** True if a key that was applied before is answered without doing it again. */
  readonly #deduplicates: boolean;
  #waiting: (() => void)[] = [];
  #untold: (() => void)[] = [];

  constructor(options: { readonly deduplicates: boolean }) {
    this.#deduplicates = options.deduplicates;
  }

  /** Carries out one request by the conduct of the moment. */
  readonly work = async (use: ToolUseContext): Promise<ToolResultEnvelope> => {
    const { idempotencyKey: key } = use;
    this.received.push(key);
    if (this.conduct === "lose") {
      // It may still arrive, long after whoever sent it is gone.
      await new Promise<void>((land) => this.#waiting.push(land));
      this.#apply(key);
      return await never();
    }
    if (this.conduct === "refuse") return errorEnvelope(failure("tool_failed", "There is no such card"));
    this.#apply(key);
    if (this.conduct === "swallow" || this.conduct === "mute") return await never();
    if (this.conduct === "break") throw new Error("The connection broke off");
    return textEnvelope(this.text);
  };

  /** Tells whether a call was applied, as a tool would that can look its effect up. */
  readonly verify: Performer<"tool.verify"> = ({ key }) => {
    this.looks += 1;
    if (this.looking === "lose") return never();
    const result: PerformerResult = this.looking === "fail"
      ? { status: "failed", failure: failure("tool_failed", "The look-up failed") }
      : { status: "ok", value: { applied: this.applied.includes(key) } };
    return Promise.resolve(result);
  };

  /** What an adapter says at the end of a call, unless it takes its time and says nothing. */
  async tell(result: Promise<PerformerResult>): Promise<PerformerResult> {
    const known = await result;
    if (this.conduct !== "mute") return known;
    return await new Promise((tell) => this.#untold.push(() => tell(known)));
  }

  /** Lets adapters say what they know. */
  speak(): void {
    for (const go of this.#untold.splice(0)) go();
  }

  /** Lets the requests arrive that were lost on their way. */
  land(): void {
    for (const go of this.#waiting.splice(0)) go();
  }

  #apply(key: string): void {
    if (!this.#deduplicates || !this.applied.includes(key)) this.applied.push(key);
  }
}

function never<Result>(): Promise<Result> {
  return new Promise(() => {});
}
