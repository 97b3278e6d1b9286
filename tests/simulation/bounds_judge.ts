/** I12: queues are within their bounds at all times, whatever the bounds of this run are. */
import { limits } from "../../schemas/limits.ts";
import type { Complain } from "./evidence.ts";
import type { Life } from "./life.ts";
import type { Bounds } from "./plan.ts";

/** Looks at a life after each step. What a bug did to the bounds of the process does not count: those of the plan do. */
export class BoundsJudge {
  readonly #complain: Complain;
  readonly #bounds: Required<Pick<Bounds, "mailboxMessagesMax" | "reasksAtOnceMax" | "unitsUnwrittenMax">>;

  constructor(bounds: Bounds, complain: Complain) {
    this.#complain = complain;
    const { mailboxMessagesMax, reasksAtOnceMax, unitsUnwrittenMax } = limits;
    this.#bounds = { mailboxMessagesMax, reasksAtOnceMax, unitsUnwrittenMax, ...bounds };
  }

  look({ runtime, isAlive }: Life): void {
    if (runtime === undefined || !isAlive || runtime.kernel.stopped !== undefined) return;
    const { kernel, journal } = runtime;
    const over = (what: string, count: number, most: number) => {
      if (count > most) this.#complain("I12", `There are ${count} of ${what}, at most ${most} may be`);
    };
    over("re-asks at once", kernel.reasks.active, this.#bounds.reasksAtOnceMax);
    // One crank may end while the last place is free; births, quarantines and letters to nobody are units as well.
    over("unwritten units", journal.writer.unwritten, this.#bounds.unitsUnwrittenMax + unboundUnits);
    const waiting = [...kernel.roots.values()].map(({ address, mailbox }) => [address, mailbox] as const);
    for (const [address, mailbox] of [...waiting, ...kernel.parked]) {
      // Only commands of clients are bounded: facts come as they come (K15).
      const given = mailbox.filter((mail) => mail.kind === "input" && mail.body.command !== undefined).length;
      over(`commands in the mailbox of ${address}`, given, this.#bounds.mailboxMessagesMax);
    }
  }
}

/** Units that no bound holds back. */
const unboundUnits = 60;
