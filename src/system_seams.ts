/** The seams of production: the system's clock, randomness and hashing. The only file that may touch them. */
import type { Clock, LogEvent, Seams } from "./seams.ts";

/** Timers count no time while the machine sleeps, so a long wait looks at the clock again at least this often. */
const waitMsMax = 60_000;

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const randomDigits = 16;

function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done);
  });
}

/**
 * Runs a task when the event loop has been around once: 5 microseconds away. A message port is no turn of the loop once
 * CommonJS packages are loaded (its message then comes after three microtasks), and a timer takes 2 milliseconds.
 */
function defer(task: () => void): void {
  setImmediate(task);
}

function createClock(): Clock {
  return {
    now: () => Date.now(),
    sleepUntil: async (atMs, signal) => {
      for (let left = atMs - Date.now(); left > 0 && !signal?.aborted; left = atMs - Date.now()) {
        await wait(Math.min(left, waitMsMax), signal);
      }
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
  const hash = await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>);
  let text = "sha256:";
  for (const byte of new Uint8Array(hash)) text += hexOfByte[byte];
  return text;
}

/** The seams of a process: given once by `main.ts`, passed down, never imported as values elsewhere. */
export function createSystemSeams({ log }: { readonly log: (event: LogEvent) => void }): Seams {
  return { clock: createClock(), nextId: createIds(), random: () => Math.random(), digest: sha256, log };
}
