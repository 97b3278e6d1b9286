/**
 * The calls of one program that is connected over the API (CM-33, CM-37). A call is handed out once, to the registration
 * whose stream is open; from then on it may be applied. A stream that breaks may come back within its lease; the program
 * is gone after that, and what was handed to it is lost, which each call's class decides the meaning of.
 */
import type { CallEvent } from "../../schemas/api_program.ts";
import { type Failure, failure, retryableFailure } from "../../schemas/failure.ts";
import type { IntentId, RootAddress } from "../../schemas/ids.ts";
import { programLimits } from "../../schemas/program_limits.ts";
import type { Clock } from "../seams.ts";

/** What an event is before it has its place. */
export type Unplaced<E extends CallEvent = CallEvent> = E extends CallEvent ? Omit<E, "seq"> : never;

/** A call for a program. */
export interface MailboxCall {
  /** What the program hears. */
  readonly event: Unplaced;
  /** True if a repeat harms nobody: then nobody waits longer than to the deadline. */
  readonly isHarmless?: boolean;
  readonly root: RootAddress;
  /** The intent of this attempt: its outcome is the call's result. */
  readonly attempt: IntentId;
  readonly deadlineAtMs: number;
  /** Aborts when nobody waits any more. */
  readonly signal: AbortSignal;
  /** To be called right before the call is handed out. */
  readonly begin: () => void;
  /** Tells people how far the call is. */
  readonly notice: (text: string) => void;
}

/** What came of a call. `not_started`: it was never handed out. `lost`: it was, and nobody can say what became of it. */
export type MailboxAnswer =
  | { readonly kind: "answered"; readonly result: unknown }
  | { readonly kind: "not_started" | "lost"; readonly failure: Failure };

interface Pending {
  readonly call: MailboxCall;
  /** The registration that has it. */
  holder: string | undefined;
  isBegun: boolean;
  readonly settle: (answer: MailboxAnswer) => void;
}

interface Reader {
  readonly end: () => void;
}

/** Options of {@linkcode Mailbox}. */
export interface MailboxOptions {
  readonly program: string;
  readonly clock: Clock;
}

/** The calls of one program. */
export class Mailbox {
  readonly #options: MailboxOptions;
  readonly #pending = new Map<string, Pending>();
  /** What was not settled since, in the order of its sequence. */
  #events: CallEvent[] = [];
  #seq = 0;
  #registration: string;
  #reader: Reader | undefined;
  #lease: AbortController | undefined;
  #isClosed = false;
  readonly #closed = Promise.withResolvers<void>();
  #news = Promise.withResolvers<void>();

  /** Its program is expected within the lease. */
  constructor(options: MailboxOptions, registration: string) {
    this.#options = options;
    this.#registration = registration;
    this.#arm();
  }

  /** The registration that its calls are for. */
  get registration(): string {
    return this.#registration;
  }

  /** True if the program is gone. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Resolves when the program is gone: its lease is over, or it was closed. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Another process of the program has taken its place: what an earlier one was handed is lost, the rest waits for it. */
  take(registration: string): void {
    if (registration === this.#registration) return this.#touch();
    this.#registration = registration;
    this.#reader?.end();
    this.#reader = undefined;
    const why = "was replaced by another process of it while it had the call";
    for (const { holder, settle } of [...this.#pending.values()]) {
      if (holder !== undefined) settle({ kind: "lost", failure: this.#lost(why) });
    }
    this.#touch();
  }

  /** Sends one call and waits for what comes of it. Never rejects. */
  async exchange(call: MailboxCall): Promise<MailboxAnswer> {
    const { call_id: id } = call.event;
    if (this.#isClosed) return { kind: "not_started", failure: this.#notThere("is not connected") };
    if (this.#pending.size >= programLimits.callsMax || this.#pending.has(id)) {
      const why = this.#pending.has(id) ? "has this call already" : "has all the calls that it may have";
      return { kind: "not_started", failure: this.#notThere(why) };
    }
    const { promise, resolve } = Promise.withResolvers<MailboxAnswer>();
    const enough = new AbortController();
    const pending: Pending = { call, holder: undefined, isBegun: false, settle: resolve };
    this.#pending.set(id, pending);
    this.#add({ ...call.event, seq: this.#next() });
    const leave = () => void this.#leave(pending, enough.signal);
    call.signal.addEventListener("abort", leave, { once: true, signal: enough.signal });
    if (call.signal.aborted) leave();
    const answer = await promise;
    enough.abort();
    this.#pending.delete(id);
    this.#events = this.#events.filter((event) => event.call_id !== id);
    this.#tell();
    return answer;
  }

  /** The call that an id means, if it still waits for its result. */
  find(invocation: string): Pick<MailboxCall, "event" | "root" | "attempt" | "notice"> | undefined {
    return this.#pending.get(invocation)?.call;
  }

  /** Settles a call with its result; false if nothing waits for it. */
  report(invocation: string, result: unknown): boolean {
    const pending = this.#pending.get(invocation);
    if (pending === undefined) return false;
    // A result of an earlier attempt: it was handed out by a runtime that is gone.
    this.#begin(pending);
    pending.settle({ kind: "answered", result });
    return true;
  }

  /** The calls from an event on, until the reader goes or another one comes. Which registration reads is checked before. */
  async *read(after: number, signal: AbortSignal): AsyncIterable<CallEvent> {
    this.#reader?.end();
    const left = Promise.withResolvers<void>();
    const reader = { end: () => left.resolve() };
    const isMine = () => this.#reader === reader && !signal.aborted && !this.#isClosed;
    signal.addEventListener("abort", reader.end, { once: true });
    this.#reader = reader;
    this.#disarm();
    let seen = after;
    try {
      while (isMine()) {
        const next = this.#events.find(({ seq }) => seq > seen);
        if (next === undefined) {
          await Promise.race([this.#news.promise, left.promise]);
          continue;
        }
        seen = next.seq;
        if (next.type !== "cancel") this.#handOut(next.call_id);
        yield next;
      }
    } finally {
      signal.removeEventListener("abort", reader.end);
      if (this.#reader === reader) {
        this.#reader = undefined;
        this.#arm();
      }
    }
  }

  /** The program is gone: no call waits for it any more. */
  close(): void {
    if (this.#isClosed) return;
    this.end();
    this.#closed.resolve();
  }

  /** The runtime ends: whether the program is gone the next one finds out. */
  end(): void {
    this.#isClosed = true;
    this.#disarm();
    this.#reader?.end();
    for (const { isBegun, settle } of [...this.#pending.values()]) {
      settle(
        isBegun
          ? { kind: "lost", failure: this.#lost("went away while it had the call") }
          : { kind: "not_started", failure: this.#notThere("went away") },
      );
    }
    this.#tell();
  }

  #handOut(invocation: string): void {
    const pending = this.#pending.get(invocation);
    if (pending === undefined) return;
    this.#begin(pending);
    pending.holder = this.#registration;
  }

  #begin(pending: Pending): void {
    if (!pending.isBegun) pending.call.begin();
    pending.isBegun = true;
  }

  /** Nobody waits for the call any more: what was handed out is still heard for the lease's grace. */
  async #leave(pending: Pending, settled: AbortSignal): Promise<void> {
    const { call, settle } = pending;
    const { clock } = this.#options;
    const isLate = clock.now() >= call.deadlineAtMs;
    const { call_id: id } = call.event;
    if (!pending.isBegun) {
      return settle({ kind: "not_started", failure: this.#timeout(isLate, "was not taken") });
    }
    this.#add({
      type: "cancel",
      seq: this.#next(),
      call_id: id,
      reason: isLate ? "deadline" : "canceled",
    });
    const graceMs = call.isHarmless === true
      ? 0
      : isLate
      ? programLimits.leaseGraceMs
      : programLimits.cancelGraceMs;
    await clock.sleepUntil(clock.now() + graceMs, settled);
    settle({ kind: "lost", failure: this.#timeout(isLate, "had no result") });
  }

  #timeout(isLate: boolean, what: string): Failure {
    const { program } = this.#options;
    return isLate
      ? retryableFailure("mailbox_timeout", `The call of the program "${program}" ${what} in its time`)
      : failure("tool_canceled", `The call of the program "${program}" was canceled`);
  }

  #lost(why: string): Failure {
    return retryableFailure("program_lost", `Program "${this.#options.program}" ${why}`);
  }

  #notThere(why: string): Failure {
    const message =
      `Program "${this.#options.program}" ${why}: see that it runs, and call again. Nothing was called`;
    return retryableFailure("program_unavailable", message);
  }

  /** By the clock, so that a runtime that follows never counts below the one before. */
  #next(): number {
    return this.#seq = Math.max(this.#seq + 1, Math.floor(this.#options.clock.now()), 1);
  }

  #add(event: CallEvent): void {
    this.#events.push(event);
    this.#tell();
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }

  /** The lease begins anew, unless a stream is open. */
  #touch(): void {
    if (this.#reader === undefined) this.#arm();
  }

  #arm(): void {
    this.#disarm();
    if (this.#isClosed) return;
    const { clock } = this.#options;
    const lease = new AbortController();
    this.#lease = lease;
    void clock.sleepUntil(clock.now() + programLimits.leaseGraceMs, lease.signal).then(() => {
      if (!lease.signal.aborted) this.close();
    });
  }

  #disarm(): void {
    this.#lease?.abort();
    this.#lease = undefined;
  }
}
