/** Calls that their servers hold open while a person is asked: in memory only, so that a restart loses them. */
import type { RequestAnswer, ServerRequest } from "../../schemas/call_pause.ts";
import { type IntentId, intentKey, type RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { givenUp } from "../effects/deadline.ts";
import type { AnswerAsk, AskAnswer, ServerAsk } from "./server_requests.ts";

/** States that servers want back and that hold a secret of the host: the oldest are forgotten. */
const statesMax = 256;

/** What a round of a call listens with. */
export interface Listener {
  /** Aborts when nobody wants the call any more. */
  readonly signal: AbortSignal;
  readonly push: (text: string) => void;
}

/** What the work of a call is given, whatever round it is in. */
export interface CallParts extends Listener {
  readonly onAsk: AnswerAsk;
}

/** What a call came to: its end, or requests of its server. */
export type Turn<T> = { readonly end: T } | { readonly requests: readonly ServerRequest[] };

interface OpenAsk {
  readonly ask: ServerAsk;
  readonly settle: (answer: AskAnswer) => void;
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/** One call over its rounds: the work goes on between them, and waits while its server's requests are open. */
export class HeldCall<T> {
  readonly #abort = new AbortController();
  /** Requests that nobody was told of yet, and those that wait for an answer. */
  readonly #untold = new Map<string, OpenAsk>();
  readonly #told = new Map<string, OpenAsk>();
  #outcome: Outcome<T> | undefined;
  #news = Promise.withResolvers<void>();
  #gone = Promise.withResolvers<void>();
  #push: Listener["push"] = () => {};
  #asked = 0;
  #standing: RequestAnswer["action"] | undefined;

  /** Starts the work of the call, which may say something at once. */
  begin(push: Listener["push"], work: (parts: CallParts) => Promise<T>): void {
    this.#push = push;
    const parts: CallParts = {
      signal: this.#abort.signal,
      push: (text) => this.#push(text),
      onAsk: (ask) => this.#take(ask),
    };
    const end = (outcome: Outcome<T>) => {
      this.#outcome = outcome;
      this.#gone.resolve();
      this.#tell();
    };
    work(parts).then((value) => end({ value }), (error: unknown) => end({ error }));
  }

  /** Waits for the end of the call, or for what its server asks. Rejects if the work does. */
  async next({ signal, push }: Listener): Promise<Turn<T>> {
    const stop = () => this.#abort.abort(givenUp);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    this.#push = push;
    while (this.#outcome === undefined && this.#untold.size === 0) await this.#news.promise;
    this.#push = () => {};
    signal.removeEventListener("abort", stop);
    if (this.#outcome === undefined) return { requests: this.#present() };
    if ("error" in this.#outcome) throw this.#outcome.error;
    return { end: this.#outcome.value };
  }

  /** Gives the server its answers. */
  answer(answers: readonly RequestAnswer[]): void {
    for (const { key, ...answer } of answers) {
      this.#told.get(key)?.settle(answer);
      this.#told.delete(key);
    }
  }

  /** Whatever the server asks from now on gets this answer, and nobody is asked. */
  answerAll(action: RequestAnswer["action"]): void {
    this.#standing = action;
    for (const [key, { settle }] of [...this.#untold, ...this.#told]) {
      settle({ action });
      this.#untold.delete(key);
      this.#told.delete(key);
    }
  }

  /** Resolves once nobody waits for the answers to what was presented last. */
  get gone(): Promise<void> {
    return this.#gone.promise;
  }

  #take(ask: ServerAsk): Promise<AskAnswer> {
    if (this.#standing !== undefined) return Promise.resolve({ action: this.#standing });
    if (ask.signal.aborted) return Promise.resolve({ action: "cancel" });
    const key = `ask-${++this.#asked}`;
    const answer = new Promise<AskAnswer>((settle) => this.#untold.set(key, { ask, settle }));
    ask.signal.addEventListener("abort", () => this.#forget(key), { once: true });
    this.#tell();
    return answer;
  }

  /** The server does not wait for an answer any more. */
  #forget(key: string): void {
    const open = this.#untold.get(key) ?? this.#told.get(key);
    this.#untold.delete(key);
    this.#told.delete(key);
    open?.settle({ action: "cancel" });
    if (this.#told.size === 0) this.#gone.resolve();
  }

  #present(): readonly ServerRequest[] {
    this.#gone = Promise.withResolvers();
    const first = [...this.#untold].slice(0, limits.mcpRequestsAtOnceMax);
    return first.map(([key, open]) => {
      this.#untold.delete(key);
      this.#told.set(key, open);
      return open.ask.read(key);
    });
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }
}

/** The calls of one runtime that are held open, and what else of a call may be in memory only. */
export class SuspendedCalls<T> {
  readonly #calls = new Map<string, HeldCall<T>>();
  readonly #states = new Map<string, string>();

  /** Keeps a call until its next round. `call`: its first intent, by which all its rounds know it. */
  keep(root: RootAddress, call: IntentId, held: HeldCall<T>): void {
    this.#calls.set(intentKey(root, call), held);
  }

  /** The call that is held, for its next round; undefined if it went with an earlier runtime. */
  take(root: RootAddress, call: IntentId): HeldCall<T> | undefined {
    const key = intentKey(root, call);
    const held = this.#calls.get(key);
    this.#calls.delete(key);
    return held;
  }

  /** Resolves once nobody waits for an answer during this call; at once if it is not held here. */
  async untilGone(root: RootAddress, call: IntentId): Promise<void> {
    await this.#calls.get(intentKey(root, call))?.gone;
  }

  keepState(root: RootAddress, call: IntentId, state: string): void {
    const key = intentKey(root, call);
    this.#states.delete(key);
    this.#states.set(key, state);
    for (const oldest of this.#states.keys()) {
      if (this.#states.size <= statesMax) break;
      this.#states.delete(oldest);
    }
  }

  stateOf(root: RootAddress, call: IntentId): string | undefined {
    return this.#states.get(intentKey(root, call));
  }
}
