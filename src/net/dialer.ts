/** A connection to one of the addresses that were checked, and to nothing else. */
import { limits } from "../../schemas/limits.ts";
import { givenUp } from "../effects/deadline.ts";
import type { Clock } from "../seams.ts";
import { readAddress } from "./address.ts";
import { HttpError } from "./http_error.ts";

/** An address and a port. Never a name. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/** Connects to an endpoint. Rejects soon after `signal` aborts. */
export type Dial = (endpoint: Endpoint, signal: AbortSignal) => Promise<Deno.TcpConn>;

/** Connects by the system, and looks once more at who is on the other side. Proxies of the environment do not count. */
export async function dialBySystem({ address, port }: Endpoint, signal: AbortSignal): Promise<Deno.TcpConn> {
  const connection = await Deno.connect({ hostname: address, port, signal, autoSelectFamily: false });
  const peer = connection.remoteAddr.hostname;
  if (readAddress(peer)?.text === address) return connection;
  connection.close();
  throw new HttpError(
    "url_blocked",
    "Cannot use a connection: its other side is not the address that was checked",
    {
      wasSent: false,
    },
  );
}

/** What {@linkcode dialFirst} needs. */
export interface DialRequest {
  readonly addresses: readonly string[];
  readonly port: number;
  readonly dial: Dial;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** A connection, and which of the addresses it leads to. */
export interface Dialed {
  readonly connection: Deno.TcpConn;
  readonly address: string;
}

interface Attempt {
  readonly address: string;
  readonly stop: AbortController;
  readonly dialed: Promise<Dialed>;
}

/**
 * Connects to the first address that answers. Each has a moment for itself before the next is tried beside it, so a dead
 * one delays little; connections that come too late are closed. Rejects with the last error if all fail.
 */
export async function dialFirst(request: DialRequest): Promise<Dialed> {
  const { addresses, port, dial, clock, signal } = request;
  const attempts: Attempt[] = [];
  const given = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  given.catch(() => {});
  let won: Dialed | undefined;
  try {
    signal.throwIfAborted();
    for (const address of addresses) {
      const stop = new AbortController();
      const dialed = dial({ address, port }, stop.signal).then((connection) => ({ connection, address }));
      attempts.push({ address, stop, dialed });
      const all = attempts.map((attempt) => attempt.dialed);
      const isLast = attempts.length === addresses.length;
      won = await Promise.race([given, isLast ? Promise.any(all) : firstOrNext(all, dialed, clock)]);
      if (won) return won;
    }
    throw new RangeError("Cannot connect to no address");
  } catch (error) {
    const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
    throw errors.at(-1);
  } finally {
    endOthers(attempts, won);
  }
}

/** Waits until one of all tries has connected, the newest has failed, or its moment is over. */
async function firstOrNext(
  all: readonly Promise<Dialed>[],
  newest: Promise<Dialed>,
  clock: Clock,
): Promise<Dialed | undefined> {
  const enough = new AbortController();
  const pause = clock.sleepUntil(clock.now() + limits.httpNextAddressMs, enough.signal).then(() => undefined);
  const failed = new Promise<undefined>((resolve) => void newest.catch(() => resolve(undefined)));
  const first = Promise.any(all).catch(() => undefined);
  try {
    return await Promise.race([first, pause, failed]);
  } finally {
    enough.abort(givenUp);
  }
}

/** Nobody aborts the one that won: its signal could close it. */
function endOthers(attempts: readonly Attempt[], won: Dialed | undefined): void {
  for (const { stop, dialed, address } of attempts) {
    if (address === won?.address) continue;
    dialed.then(({ connection }) => connection.close(), () => {});
    stop.abort(givenUp);
  }
}
