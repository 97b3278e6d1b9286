/** What a program reports of its calls: once for each message id, answered when the result is durable (CM-121, CM-124). */
import { z } from "zod";
import type { ReportParams, ReportResult } from "../../schemas/api_program.ts";
import type { Json } from "../../schemas/json.ts";
import { programLimits } from "../../schemas/program_limits.ts";
import { canonicalBytes } from "../canonical.ts";
import { keys, prefixes } from "../journal/keys.ts";
import type { StoreKey } from "../journal/store.ts";
import type { Kernel } from "../kernel/kernel.ts";
import { setRows } from "../kernel/set_rows.ts";
import { peekText } from "../peek.ts";
import type { Runtime } from "../runtime.ts";
import type { Seams } from "../seams.ts";
import type { Mailbox } from "./mailbox.ts";
import { ProgramError } from "./program_error.ts";

/** What reports are taken with. */
export interface ProgramReportsParts {
  readonly program: string;
  readonly runtime: Pick<Runtime, "kernel" | "watch">;
  readonly seams: Pick<Seams, "clock" | "digest">;
  /** Where the calls are. */
  readonly mailbox: () => Mailbox;
}

const ReportRow = z.object({ hash: z.string(), call: z.string(), at: z.number() });

interface Taken {
  readonly hash: string;
  readonly answer: Promise<ReportResult>;
}

/** The reports of one program. */
export class ProgramReports {
  readonly #parts: ProgramReportsParts;
  readonly #taken = new Map<string, Taken>();

  constructor(parts: ProgramReportsParts) {
    this.#parts = parts;
  }

  /** Deletes the rows of reports that are a day old. */
  static async sweep(kernel: Kernel): Promise<void> {
    const before = kernel.seams.clock.now() - programLimits.reportAgeMs;
    const deletes: StoreKey[] = [];
    for await (const { key, value } of kernel.journal.listRows(prefixes.reports)) {
      const row = ReportRow.safeParse(value).data;
      if (row === undefined || row.at < before) deletes.push(key);
      if (deletes.length >= programLimits.reportsMax) break; // The next start deletes more.
    }
    if (deletes.length > 0) await setRows(kernel, { sets: [], deletes });
  }

  /** Takes a report. Throws {@linkcode ProgramError} for one that is stale, or another one under a known id. */
  async take(given: ReportParams): Promise<ReportResult> {
    const { program: _, message_id: message, ...said } = given;
    const hash = await this.#parts.seams.digest(canonicalBytes(said as unknown as Json));
    const known = this.#taken.get(message);
    if (known !== undefined) return same(known.hash, hash, message) && await known.answer;
    const answer = this.#takeOnce(given, hash);
    this.#taken.set(message, { hash, answer });
    for (const oldest of this.#taken.keys()) {
      if (this.#taken.size <= programLimits.reportsMax) break;
      this.#taken.delete(oldest);
    }
    // What was refused, or is not known to have been recorded, may be said again.
    answer.catch(() => this.#taken.delete(message));
    return await answer;
  }

  async #takeOnce(given: ReportParams, hash: string): Promise<ReportResult> {
    const { program, runtime: { kernel }, mailbox } = this.#parts;
    const { message_id: message, call_id: id, result, progress, prepared } = given;
    const key = keys.reported(program, message);
    const row = ReportRow.safeParse(await kernel.journal.readRow(key)).data;
    if (row !== undefined) {
      same(row.hash, hash, message);
      return { call_id: id, state: "recorded" };
    }
    const call = mailbox().find(id);
    if (call === undefined) throw stale(id);
    if (progress !== undefined) {
      call.notice(progress);
      return { call_id: id, state: "noted" };
    }
    // Each to what it answers: a result to a call, what was prepared to a round.
    if ((call.event.type === "prepare") !== (prepared !== undefined)) throw stale(id);
    if (prepared !== undefined) {
      if (!mailbox().report(id, prepared)) throw stale(id);
      return { call_id: id, state: "noted" };
    }
    const recorded = this.#recorded(call);
    if (!mailbox().report(id, result)) throw stale(id);
    await recorded;
    const value = { hash, call: id, at: kernel.seams.clock.now() };
    await setRows(kernel, { sets: [{ key, value }], deletes: [] });
    return { call_id: id, state: "recorded" };
  }

  /** Resolves once the outcome of an attempt is durable. */
  async #recorded({ root, attempt }: { readonly root: string; readonly attempt: string }): Promise<void> {
    const { runtime, seams: { clock } } = this.#parts;
    const found = Promise.withResolvers<true>();
    const stop = runtime.watch((event) => {
      if (event.type !== "entries" || event.root !== root) return;
      const isThere = event.entries.some(({ kind, body }) =>
        kind === "outcome" && peekText(body, "id") === attempt
      );
      if (isThere) found.resolve(true);
    });
    const enough = new AbortController();
    const { ending } = runtime.kernel;
    const giveUp = () => enough.abort();
    ending.signal.addEventListener("abort", giveUp, { once: true });
    const late = clock.sleepUntil(clock.now() + programLimits.reportWaitMs, enough.signal).then(() =>
      false as const
    );
    const isDurable = await Promise.race([found.promise, late]);
    ending.signal.removeEventListener("abort", giveUp);
    enough.abort();
    stop();
    if (isDurable) return;
    throw new ProgramError(
      "report_unconfirmed",
      "The report is not known to be durable: send the same one again",
    );
  }
}

function same(known: string, hash: string, message: string): true {
  if (known === hash) return true;
  throw new ProgramError(
    "message_id_reuse",
    `Another report has the message id "${message}": give each report an id of its own`,
  );
}

function stale(call: string): ProgramError {
  return new ProgramError(
    "report_stale",
    `Nothing waits for a report of "${
      call.slice(0, 100)
    }": it has ended, or was never yours; nothing was changed`,
  );
}
