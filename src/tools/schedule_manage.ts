/** `schedule_manage`: prompts that this session is given later by itself, again and again or once (DM-16). */
import { z } from "zod";
import { type Failure, failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import {
  CronExpression,
  type ScheduleDraft,
  type ScheduleTimes,
  type ScheduleView,
  ZoneName,
} from "../../schemas/schedule.ts";
import { scheduleText, timesText } from "../schedule_text.ts";
import { type BuiltinTool, defineTool, errorEnvelope, textEnvelope, type ToolUseContext } from "./tool.ts";
import { visible } from "./visible.ts";

const input = z.strictObject({
  action: z.enum(["create", "list", "delete"])
    .describe("create makes one, list shows those that wait, delete ends one"),
  prompt: z.string().min(1).max(limits.schedulePromptCharactersMax).optional()
    .describe("For create: what this session is told when it is due"),
  cron: CronExpression.optional()
    .describe(
      "For create, again and again: minute hour day-of-month month day-of-week, such as 0 9 * * MON-FRI",
    ),
  zone: ZoneName.optional().describe("For cron: IANA time zone, such as Europe/Berlin; without it UTC"),
  at: z.iso.datetime({ offset: true }).optional()
    .describe("For create, once: time with Z or an offset, such as 2027-01-31T09:00:00+01:00"),
  in_s: z.int().min(1).max(limits.scheduleAheadMsMax / 1_000).optional()
    .describe("For create, once: seconds from now"),
  id: z.string().max(100).optional().describe("For delete: the schedule, as list shows it"),
});
type Input = z.output<typeof input>;

/** Makes, lists and deletes schedules of the session, at most 32. A person is asked first. */
export const scheduleManage: BuiltinTool = defineTool({
  name: "schedule_manage",
  title: "Schedules",
  description:
    "Gives this session a prompt later by itself: by a cron expression, or once. Lists and deletes such schedules. They " +
    "act only while a process runs the store; what fell due meanwhile is done once at its next start.",
  resource: { kind: "schedule", scope: "session" },
  capability: "schedule.manage",
  parallelSafe: false,
  // The key of the call names what it makes: a repeat meets the same schedule.
  reach: { riskLevel: "high", effectClass: "conditional", mechanism: "key", approvalPolicy: "prompt" },
  inputSchema: input,
  run: async (wanted, { schedules, clock }) => {
    switch (wanted.action) {
      case "list":
        return textEnvelope(listText(await schedules.list()));
      case "create": {
        const draft = draftOf(wanted, clock.now());
        if ("code" in draft) return errorEnvelope(draft);
        const made = await schedules.create(draft);
        return "code" in made ? errorEnvelope(made) : textEnvelope(madeText(made));
      }
      case "delete":
        return await remove(wanted, schedules);
    }
  },
});

async function remove({ id }: Input, schedules: ToolUseContext["schedules"]) {
  if (id === undefined) return errorEnvelope(invalid("Nothing to delete: give id, as list shows it"));
  const gone = await schedules.remove(id);
  if ("code" in gone) return errorEnvelope(gone);
  const text = gone.status === "deleted" ? "is deleted" : "had ended before";
  return textEnvelope(`The schedule ${gone.id} ${text}; it fired ${gone.fired} times`);
}

function draftOf(wanted: Input, now: number): ScheduleDraft | Failure {
  if (wanted.prompt === undefined) return invalid("Nothing to say when it is due: give prompt");
  const times = timesOf(wanted, now);
  return "code" in times ? times : { times, prompt: wanted.prompt };
}

function timesOf({ cron, zone, at, in_s: inSeconds }: Input, now: number): ScheduleTimes | Failure {
  const given = [cron, at, inSeconds].filter((one) => one !== undefined);
  if (given.length !== 1) return invalid("Cannot tell when it is due: give one of cron, at, in_s");
  if (cron !== undefined) return { type: "cron", expression: cron, zone: zone ?? "UTC" };
  if (zone !== undefined) return invalid("zone is for cron: give at with Z or an offset");
  const dueAtMs = at === undefined ? now + (inSeconds ?? 0) * 1_000 : Date.parse(at);
  return { type: "once", dueAtMs };
}

function invalid(message: string): Failure {
  return failure("arguments_invalid", message);
}

/** Says plainly that nothing happens while nothing runs: no schedule is refused for that. */
function madeText(made: ScheduleView): string {
  return [
    `Made the schedule ${made.id}: ${timesText(made.times)}.`,
    `${scheduleText(made)}.`,
    "It acts only while a process runs this store, such as troupe run; what falls due while none does, is done once at " +
    "the next start.",
  ].join("\n");
}

function listText(schedules: readonly ScheduleView[]): string {
  if (schedules.length === 0) return "[no schedule waits]";
  return schedules.map((one) =>
    `${one.id}  ${timesText(one.times)}; ${scheduleText(one)}\n    ${
      JSON.stringify(visible(one.prompt.slice(0, 200)))
    }`
  ).join("\n");
}
