/** A schedule: when a session is given a prompt by itself, and how far that has come. */
import { z } from "zod";
import { type RootAddress, RootAddress as Address } from "./ids.ts";
import { limits } from "./limits.ts";

/** Id of a schedule, `sch_` and 26 letters or digits; made of the call that made it, so that a repeat makes the same. */
export const ScheduleId = z.string().regex(
  /^sch_[0-9A-HJKMNP-TV-Z]{26}$/,
  "must look like sch_ and 26 letters or digits",
);
/** Id of a schedule. */
export type ScheduleId = z.infer<typeof ScheduleId>;

/** Address of a schedule of a session: `schedule/<id>@<id of the session>`. */
export function scheduleAddress(id: ScheduleId, session: RootAddress): RootAddress {
  return `schedule/${id}@${session.slice(session.indexOf("/") + 1)}`;
}

/** The id in a schedule's address. */
export function scheduleIdOf(address: RootAddress): ScheduleId {
  return address.slice("schedule/".length).replace(/@.*$/, "");
}

/** Five fields: minute, hour, day of the month, month, day of the week. No seconds: once a minute is the most. */
export const CronExpression = z.string().max(200).regex(
  /^[0-9A-Za-z*,/#-]+(?: [0-9A-Za-z*,/#-]+){4}$/,
  "must be five fields: minute hour day-of-month month day-of-week, for example 0 9 * * MON-FRI",
);

/** A time zone by its name in the IANA data base. */
export const ZoneName = z.string().max(64).regex(
  /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/,
  "must be the name of a time zone, for example Europe/Berlin",
);

/** When a schedule is due: again and again, or once. */
export const ScheduleTimes = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("cron"), expression: CronExpression, zone: ZoneName }),
  z.strictObject({ type: z.literal("once"), dueAtMs: z.number().min(0) }),
]);
/** When a schedule is due. */
export type ScheduleTimes = z.infer<typeof ScheduleTimes>;

/** What a schedule is made of: when it is due, and what its session is then given. */
export const ScheduleDraft = z.strictObject({
  times: ScheduleTimes,
  prompt: z.string().min(1).max(limits.schedulePromptCharactersMax),
});
/** What a schedule is made of. */
export type ScheduleDraft = z.infer<typeof ScheduleDraft>;

/** What a schedule is created with. */
export const ScheduleInput = ScheduleDraft.extend({
  address: Address,
  session: Address,
  /** When it was made: due times before that are none. */
  madeAtMs: z.number(),
});
/** What a schedule is created with. */
export type ScheduleInput = z.infer<typeof ScheduleInput>;

/** Arguments of `schedule.next`: the first due time behind `afterMs` is asked for. */
export const NextDueArgs = z.strictObject({
  expression: CronExpression,
  zone: ZoneName,
  afterMs: z.number(),
  /** The due time that was acted on last: those between it and `afterMs` were missed. */
  actedOnMs: z.number().nullable(),
});

/** What `schedule.next` yields. */
export const NextDue = z.strictObject({
  /** Null if there is none any more. */
  dueAtMs: z.number().nullable(),
  /** Due times that were missed, as far as they are counted. */
  missed: z.int().min(0).max(limits.scheduleMissedCountedMax),
});
/** What `schedule.next` yields. */
export type NextDue = z.infer<typeof NextDue>;

/** How far a schedule has come: the body of its note `schedule.state`, written whenever something of it changes. */
export const ScheduleState = z.strictObject({
  status: z.enum(["waiting", "done", "deleted", "failed"]),
  dueAtMs: z.number().nullable(),
  lastFiredAtMs: z.number().nullable(),
  /** How often its session was given the prompt. */
  fired: z.int().min(0),
  /** Due times on which nothing was done: nothing ran then, or the last prompt was not answered yet. */
  missed: z.int().min(0),
  /** How the turn of the last prompt ended; null while that is not known. */
  lastOutcome: z.string().max(100).nullable(),
  /** Why it failed. */
  reason: z.string().max(2_000).exactOptional(),
});
/** How far a schedule has come. */
export type ScheduleState = z.infer<typeof ScheduleState>;

/** A schedule as people and models are shown it. */
export interface ScheduleView extends ScheduleState {
  readonly id: ScheduleId;
  readonly session: RootAddress;
  readonly times: ScheduleTimes;
  readonly prompt: string;
  readonly madeAtMs: number;
}
