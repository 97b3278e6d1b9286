/** The seams of production: the system's clock, randomness and hashing. The only file that may touch them. */
import { createHash } from "node:crypto";
import type { Clock, LogEvent, Seams } from "./seams.ts";

/** Bytes up to which a digest is made at once: 50 microseconds at most. The trip to another thread alone takes 10. */
const digestAtOnceBytesMax = 65_536;

/** Timers count no time while the machine sleeps, so a long wait looks at the clock again at least this often. */
const waitMsMax = 60_000;

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const randomDigits = 16;

/**
 * Runs a task when the event loop has been around once: 5 microseconds away. A message port is no turn of the loop once
 * CommonJS packages are loaded (its message then comes after three microtasks), and a timer takes 2 milliseconds.
 */
function defer(task: () => void): void {
  setImmediate(task);
}

interface Sleeper {
  readonly atMs: number;
  readonly wake: () => void;
}

/** One timer for everybody: most waits are deadlines that are given up long before they come. */
class Alarm {
  readonly #sleepers = new Set<Sleeper>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #firesAtMs = Infinity;

  add(sleeper: Sleeper): void {
    this.#sleepers.add(sleeper);
    if (sleeper.atMs < this.#firesAtMs) this.#arm(sleeper.atMs);
  }

  remove(sleeper: Sleeper): void {
    if (!this.#sleepers.delete(sleeper) || this.#sleepers.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#firesAtMs = Infinity;
  }

  #arm(atMs: number): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#firesAtMs = atMs;
    this.#timer = setTimeout(() => this.#fire(), Math.min(Math.max(atMs - Date.now(), 0), waitMsMax));
  }

  #fire(): void {
    this.#timer = undefined;
    this.#firesAtMs = Infinity;
    const now = Date.now();
    let next = Infinity;
    for (const sleeper of this.#sleepers) {
      if (sleeper.atMs <= now) {
        this.#sleepers.delete(sleeper);
        sleeper.wake();
      } else next = Math.min(next, sleeper.atMs);
    }
    if (next < this.#firesAtMs) this.#arm(next);
  }
}

function createClock(): Clock {
  const alarm = new Alarm();
  return {
    now: () => Date.now(),
    sleepUntil: (atMs, signal) => {
      if (atMs <= Date.now() || signal?.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const sleeper: Sleeper = {
          atMs,
          wake: () => {
            signal?.removeEventListener("abort", giveUp);
            resolve();
          },
        };
        const giveUp = () => {
          alarm.remove(sleeper);
          sleeper.wake();
        };
        signal?.addEventListener("abort", giveUp);
        alarm.add(sleeper);
      });
    },
    defer,
  };
}

function timeDigits(ms: number): string {
  let digits = "";
  for (let rest = ms; digits.length < 10; rest = Math.floor(rest / 32)) {
    digits = (crockford[rest % 32] ?? "") + digits;
  }
  return digits;
}

/** Makes ids that sort by creation, also within one millisecond and when the clock is set back. */
function createIds(): Seams["nextId"] {
  let lastMs = 0;
  const digits = new Uint8Array(randomDigits);
  return (prefix) => {
    const ms = Math.max(Date.now(), lastMs);
    if (ms > lastMs) {
      lastMs = ms;
      crypto.getRandomValues(digits);
      for (let i = 0; i < randomDigits; i++) digits[i] = (digits[i] ?? 0) % 32;
    } else increment(digits);
    let text = `${prefix}_${timeDigits(ms)}`;
    for (const digit of digits) text += crockford[digit];
    return text;
  };
}

function increment(digits: Uint8Array): void {
  for (let i = digits.length - 1; i >= 0; i--) {
    const digit = ((digits[i] ?? 0) + 1) % 32;
    digits[i] = digit;
    if (digit !== 0) return;
  }
}

const hexOfByte = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

async function sha256(bytes: Uint8Array): Promise<string> {
  if (bytes.length <= digestAtOnceBytesMax) {
    return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  }
  const hash = await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>);
  let text = "sha256:";
  for (const byte of new Uint8Array(hash)) text += hexOfByte[byte];
  return text;
}

/** The seams of a process: given once by `main.ts`, passed down, never imported as values elsewhere. */
export function createSystemSeams({ log }: { readonly log: (event: LogEvent) => void }): Seams {
  return { clock: createClock(), nextId: createIds(), random: () => Math.random(), digest: sha256, log };
}
