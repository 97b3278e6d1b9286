/** The schedules of sessions: made, listed and deleted for the tool `schedule_manage` and for an operator. */
import { Failure, failure } from "../schemas/failure.ts";
import { type RootAddress, rootKindOf, sessionOf } from "../schemas/ids.ts";
import { limits } from "../schemas/limits.ts";
import {
  scheduleAddress,
  ScheduleDraft,
  ScheduleId,
  scheduleIdOf,
  ScheduleInput,
  ScheduleState,
  type ScheduleView,
} from "../schemas/schedule.ts";
import { createSchedule } from "./births.ts";
import { cleanText } from "./effects/clean.ts";
import { firstDue } from "./effects/schedule_next.ts";
import type { Records } from "./host/host.ts";
import { submit } from "./kernel/command.ts";
import type { Kernel } from "./kernel/kernel.ts";
import type { Redactor } from "./redact/redactor.ts";
import type { Seams } from "./seams.ts";

/** What a tool may do with the schedules of its own session: those of others it can neither see nor reach. */
export interface SessionSchedules {
  /** Makes a schedule; durable once it resolves. The same call again makes no second one (GA-54). */
  create(draft: ScheduleDraft): Promise<ScheduleView | Failure>;
  /** Those that wait, oldest first. */
  list(): Promise<readonly ScheduleView[]>;
  /** Deletes one; resolves once that is durable. One that has ended is left as it is. */
  remove(id: string): Promise<ScheduleView | Failure>;
}

type Reading = Pick<Records, "readHead" | "readPages">;

/** A schedule as its stream tells of it; undefined if it is none, or nothing of it is written yet. */
export async function readSchedule(
  records: Reading,
  address: RootAddress,
): Promise<ScheduleView | undefined> {
  const input = await readInput(records, address);
  if (input === undefined) return undefined;
  const { times, prompt, session, madeAtMs } = input;
  const { seq } = await records.readHead(address);
  const tail = Math.max(1, seq - limits.scheduleTailEntries);
  const state = await readState(records, address, tail) ?? await readState(records, address, 1) ?? unplanned;
  return { id: scheduleIdOf(address), session, times, prompt, madeAtMs, ...state };
}

/** Before its first note: it was made, and its first due time is not known yet. */
const unplanned: ScheduleState = {
  status: "waiting",
  dueAtMs: null,
  lastFiredAtMs: null,
  fired: 0,
  missed: 0,
  lastOutcome: null,
};

async function readInput(records: Reading, address: RootAddress): Promise<ScheduleInput | undefined> {
  for await (const [first] of records.readPages(address, 1)) {
    const { input } = Object(first?.body) as { readonly input?: unknown };
    return ScheduleInput.safeParse(input).data;
  }
  return undefined;
}

async function readState(
  records: Reading,
  address: RootAddress,
  fromSeq: number,
): Promise<ScheduleState | undefined> {
  let state: ScheduleState | undefined;
  for await (const page of records.readPages(address, fromSeq)) {
    for (const { kind, type, body } of page) {
      if (kind === "note" && type === "schedule.state") state = ScheduleState.safeParse(body).data ?? state;
    }
  }
  return state;
}

/** Who tells a schedule what a tool wants: what the session was allowed is in its own journal. */
const runtimeItself = "program:runtime";

/** All schedules of a runtime. */
export class Schedules {
  readonly #kernelOf: () => Kernel;
  readonly #redactor: Redactor;
  /** Those that have ended: nothing of them changes any more, so they are read once. */
  readonly #ended = new Set<RootAddress>();

  constructor(kernelOf: () => Kernel, redactor: Redactor) {
    this.#kernelOf = kernelOf;
    this.#redactor = redactor;
  }

  /** The schedules of a session, as one call of a tool may use them; `key` is the call's own. */
  of(session: RootAddress, key: string): SessionSchedules {
    return {
      create: (draft) => this.#create(session, draft, key),
      list: () => this.#list(session),
      remove: async (id) => {
        // Made from the caller's own session: an id of another one leads nowhere.
        const known = ScheduleId.safeParse(id);
        return known.success
          ? await this.remove(scheduleAddress(known.data, session), runtimeItself)
          : missing(id);
      },
    };
  }

  /** Deletes a schedule in the name of a principal; resolves once that is durable. */
  async remove(address: RootAddress, by: string): Promise<ScheduleView | Failure> {
    const kernel = this.#kernelOf();
    if (rootKindOf(address) !== "schedule" || !kernel.records.has(address)) {
      return missing(scheduleIdOf(address));
    }
    const ref = { principal: by, key: kernel.seams.nextId("cmd") };
    const command = { root: address, message: { type: "schedule.delete" }, ref, isFresh: true };
    const { reply } = await submit(kernel, command);
    await reply;
    return await this.#read(address) ?? missing(scheduleIdOf(address));
  }

  async #create(session: RootAddress, draft: ScheduleDraft, key: string): Promise<ScheduleView | Failure> {
    const kernel = this.#kernelOf();
    const id = await scheduleIdFor(kernel.seams, key);
    const address = scheduleAddress(id, session);
    // A repeat of the very call: what it made is there, whatever the time is now.
    const made = kernel.records.has(address) ? await this.#read(address) : undefined;
    if (made !== undefined) return made;
    const madeAtMs = kernel.seams.clock.now();
    const dueAtMs = await dueOf(draft, madeAtMs);
    if (typeof dueAtMs === "string") return failure("arguments_invalid", dueAtMs);
    const waiting = await this.#list(session);
    if (waiting.length >= limits.schedulesPerSessionMax) {
      const why = `${waiting.length} schedules wait already: delete one first`;
      return failure("schedules_full", why);
    }
    // Once, before the entry: what is given to the session later is the clean text.
    const prompt = cleanText(this.#redactor, draft.prompt, "model");
    await createSchedule(kernel, { ...draft, prompt, address, session, madeAtMs });
    return { ...unplanned, ...draft, prompt, id, session, madeAtMs, dueAtMs };
  }

  async #list(session: RootAddress): Promise<readonly ScheduleView[]> {
    const kernel = this.#kernelOf();
    const views: ScheduleView[] = [];
    for (const address of kernel.records.keys()) {
      if (rootKindOf(address) !== "schedule" || sessionOf(address) !== session) continue;
      if (this.#ended.has(address)) continue;
      const view = await this.#read(address);
      if (view?.status === "waiting") views.push(view);
    }
    return views.sort((left, right) => left.madeAtMs - right.madeAtMs);
  }

  async #read(address: RootAddress): Promise<ScheduleView | undefined> {
    const view = await readSchedule(this.#kernelOf().journal, address);
    if (view !== undefined && view.status !== "waiting") this.#ended.add(address);
    return view;
  }
}

/** When a schedule is due first; or why it never is, one clause. */
async function dueOf({ times }: ScheduleDraft, now: number): Promise<number | string> {
  if (times.type === "cron") return await firstDue(times, now);
  if (times.dueAtMs <= now) return "The time is over already: give one that is to come";
  const days = limits.scheduleAheadMsMax / 86_400_000;
  return times.dueAtMs - now > limits.scheduleAheadMsMax
    ? `The time is too far off: at most ${days} days ahead`
    : times.dueAtMs;
}

function missing(id: string): Failure {
  return failure("schedule_not_found", `There is no schedule "${id.slice(0, 100)}": look at the list`);
}

const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** The id of the schedule that a call makes: 130 bits of the hash of its key, so that its repeat makes the same (GA-54). */
async function scheduleIdFor({ digest }: Pick<Seams, "digest">, key: string): Promise<ScheduleId> {
  const hash = await digest(new TextEncoder().encode(`schedule ${key}`));
  let rest = BigInt(`0x${hash.slice("sha256:".length)}`);
  let id = "";
  for (; id.length < 26; rest /= 32n) id += digits[Number(rest % 32n)];
  return ScheduleId.parse(`sch_${id}`);
}
