/** The place of a command that acts: the store's host, another one if its owner ends, and the leaving. */
import type { ActingHost } from "../host/host.ts";
import type { Cli } from "./cli.ts";
import { InterruptedError } from "./exit.ts";
import { type ActingOptions, openActing } from "./host.ts";

/** Longest wait for a host that is left in a hurry, in milliseconds: its store may be what does not answer. */
const hurryMs = 1_000;

/** A host that can be exchanged. */
export interface Seat {
  readonly host: ActingHost;
  /** Opens the store again: the process that held it has ended, so this one may be its owner now. */
  reopen(): Promise<void>;
}

/**
 * Opens a store for acting, acts, and closes it. An owner stays for clients at its door; a person who has left is not
 * kept waiting.
 */
export async function withSeat<T>(
  cli: Cli,
  options: ActingOptions,
  act: (seat: Seat) => Promise<T>,
): Promise<T> {
  const seat = {
    host: await openActing(cli, options),
    reopen: async () => {
      await seat.host.close();
      seat.host = await openActing(cli, options);
    },
  };
  let hurry = false;
  try {
    return await act(seat);
  } catch (error) {
    hurry = error instanceof InterruptedError;
    throw error;
  } finally {
    await close(cli, seat.host, hurry);
  }
}

async function close({ terminal, seams: { clock } }: Cli, host: ActingHost, hurry: boolean): Promise<void> {
  const onWait = () => terminal.err.line("Waiting for turns that other processes gave (Ctrl-C leaves them)");
  if (!hurry) return await host.close({ onWait });
  const stop = new AbortController();
  const late = clock.sleepUntil(clock.now() + hurryMs, stop.signal);
  await Promise.race([host.close({ hurry }).catch(() => {}), late]);
  stop.abort();
}
