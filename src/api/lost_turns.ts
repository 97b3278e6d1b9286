/** A turn whose session was taken out of service while it ran: no entry says how it ended, and a reader is told all the same. */
import type { WatchEvent } from "../../schemas/api_view.ts";
import type { Entry } from "../../schemas/entry.ts";
import { failure } from "../../schemas/failure.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { BudgetFold } from "../records/budget_fold.ts";
import type { ApiCallContext } from "./api_parts.ts";

/** Follows which turn of a session runs. */
export class TurnWatch {
  readonly #context: ApiCallContext;
  readonly #address: RootAddress;
  readonly #fold = new BudgetFold();
  #seq = 0;
  #isTold = false;

  constructor(context: ApiCallContext, address: RootAddress) {
    this.#context = context;
    this.#address = address;
  }

  /** Takes what was read, in order. Yields the turn that is lost, once, behind the last entry of its session. */
  async take(page: readonly Entry[]): Promise<readonly WatchEvent[]> {
    for (const entry of page) this.#fold.take(entry);
    this.#seq = page.at(-1)?.seq ?? this.#seq;
    const { parts: { host, runtime: { kernel } } } = this.#context;
    const record = kernel.records.get(this.#address);
    // One that only this runtime keeps away from may go on in the next.
    if (record?.status !== "quarantined" || kernel.avoided.has(this.#address) || this.#isTold) return [];
    if (this.#seq < (await host.readHead(this.#address)).seq) return [];
    const { turn } = this.#fold.view();
    this.#isTold = true;
    if (turn === undefined) return [];
    const why = failure(
      "root_quarantined",
      `The session is quarantined: ${record.reason ?? "no reason was recorded"}`.slice(0, 2_000),
    );
    return [{
      type: "transcript",
      seq: this.#seq,
      item: { type: "turn", turn, outcome: "lost", failure: why },
    }];
  }
}
