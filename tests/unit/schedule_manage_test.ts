/** The tool `schedule_manage`: what it asks for, what it needs, what an approval of it is about, what it says. */
import assert from "node:assert/strict";
import { authorize } from "../../actors/policy/authorize.ts";
import { ruleKey } from "../../actors/policy/rule_key.ts";
import { failure } from "../../schemas/failure.ts";
import type { JsonObject } from "../../schemas/json.ts";
import type { ScheduleDraft, ScheduleView } from "../../schemas/schedule.ts";
import type { SessionSchedules } from "../../src/schedules.ts";
import { scheduleManage } from "../../src/tools/schedule_manage.ts";
import { entryFor, grantFor, sealedEntry, textIn, useIn } from "../support/tools.ts";
import { createWorld } from "../support/world.ts";

const entry = sealedEntry(entryFor(scheduleManage.definition, { sourceKind: "troupe" }));
const create: JsonObject = { action: "create", cron: "0 9 * * MON-FRI", prompt: "Look at the mail" };

function judge(given: JsonObject, capabilities: readonly string[], grants: readonly string[] = []) {
  const allowed = grants.map((rule) => grantFor(entry, rule, { capabilities }));
  const rule = ruleKey(entry, given);
  const request = { entry, capabilities, grants: allowed, rule, arguments: given, at: 1_000, epoch: 1 };
  return authorize({ ...request, mode: "default" });
}

Deno.test("schedule_manage needs schedule.manage for all but list, and asks a person (DM-16)", () => {
  for (const given of [create, { action: "delete", id: "sch_1" }, { action: "other" }, {}]) {
    const denied = judge(given, []);
    assert.deepEqual([denied.verdict, denied.failure?.code], ["deny", "capability_missing"]);
    assert.equal(judge(given, ["schedule.manage"]).verdict, "ask");
  }
  assert.equal(judge({ action: "list" }, []).verdict, "ask");
});

Deno.test("schedule_manage: an answer for one action and target allows no other (DM-38)", () => {
  const rule = ruleKey(entry, create);
  const rights = ["schedule.manage"];
  assert.equal(judge(create, rights, [rule]).verdict, "allow");
  const others: readonly JsonObject[] = [
    { ...create, prompt: "Delete the mail" },
    { ...create, cron: "* * * * *" },
    { action: "delete", id: "sch_1" },
    { action: "list" },
  ];
  for (const other of others) {
    assert.equal(judge(other, rights, [rule]).verdict, "ask", JSON.stringify(other));
  }
  const deletion = ruleKey(entry, { action: "delete", id: "sch_1" });
  assert.equal(judge({ action: "delete", id: "sch_2" }, rights, [deletion]).verdict, "ask");
});

function view(draft: ScheduleDraft, changes: Partial<ScheduleView> = {}): ScheduleView {
  return {
    id: `sch_${"0".repeat(26)}`,
    session: "session/ses_1",
    ...draft,
    madeAtMs: 0,
    status: "waiting",
    dueAtMs: Date.UTC(2027, 0, 31, 9),
    lastFiredAtMs: null,
    fired: 0,
    missed: 0,
    lastOutcome: null,
    ...changes,
  };
}

/** Calls the tool; gives what it said, and the drafts that it made. */
async function call(input: JsonObject, schedules: Partial<SessionSchedules> = {}) {
  const drafts: ScheduleDraft[] = [];
  const use = useIn(undefined as never, {
    schedules: {
      create: (draft) => {
        drafts.push(draft);
        return Promise.resolve(view(draft));
      },
      list: () => Promise.resolve([]),
      remove: () => Promise.resolve(failure("schedule_not_found", "There is none")),
      ...schedules,
    },
  });
  return { text: textIn(await scheduleManage.handler(input, use)), drafts };
}

Deno.test("schedule_manage makes what is due again and again, in a time zone, and what is due once", async () => {
  const now = createWorld().seams.clock.now();
  const prompt = "Look";
  const cases: readonly (readonly [JsonObject, ScheduleDraft["times"]])[] = [
    [{ cron: "0 9 * * MON-FRI" }, { type: "cron", expression: "0 9 * * MON-FRI", zone: "UTC" }],
    [{ cron: "0 9 * * *", zone: "Europe/Berlin" }, {
      type: "cron",
      expression: "0 9 * * *",
      zone: "Europe/Berlin",
    }],
    [{ at: "2027-01-31T10:00:00+01:00" }, { type: "once", dueAtMs: Date.UTC(2027, 0, 31, 9) }],
    [{ in_s: 90 }, { type: "once", dueAtMs: now + 90_000 }],
  ];
  for (const [given, times] of cases) {
    const { text, drafts } = await call({ action: "create", prompt, ...given });
    assert.deepEqual(drafts, [{ times, prompt }]);
    assert.match(text, /^Made the schedule sch_0+: .*\nnext due 2027-01-31 09:00:00 UTC, fired 0 times\.\n/);
  }
});

Deno.test("schedule_manage says that a schedule acts only while a process runs the store", async () => {
  const { text } = await call({ ...create });
  assert.match(text, /It acts only while a process runs this store, such as troupe run/);
  assert.match(text, /what falls due while none does, is done once at the next start/);
});

Deno.test("schedule_manage lists next due, last fired and how often", async () => {
  const draft = { times: { type: "cron", expression: "0 9 * * *", zone: "UTC" }, prompt: "Look" } as const;
  const one = view(draft, {
    lastFiredAtMs: Date.UTC(2027, 0, 30, 9),
    fired: 3,
    missed: 2,
    lastOutcome: "completed",
  });
  const { text } = await call({ action: "list" }, { list: () => Promise.resolve([one]) });
  assert.equal(
    text,
    `${one.id}  at 0 9 * * * in UTC; next due 2027-01-31 09:00:00 UTC, last fired 2027-01-30 09:00:00 UTC, that turn ended ` +
      'as completed, fired 3 times, missed 2\n    "Look"',
  );
  assert.equal((await call({ action: "list" })).text, "[no schedule waits]");
});

Deno.test("schedule_manage refuses what it cannot do, and makes nothing", async () => {
  const cases: readonly JsonObject[] = [
    { action: "create" },
    { action: "create", prompt: "x" },
    { action: "create", prompt: "x", cron: "* * * * *", in_s: 5 },
    { action: "create", prompt: "x", in_s: 5, zone: "UTC" },
    // Once a minute is the most: there is no field for seconds.
    { action: "create", prompt: "x", cron: "* * * * * *" },
    { action: "create", prompt: "x", cron: "@daily" },
    { action: "create", prompt: "x", at: "tomorrow" },
    { action: "create", prompt: "x", at: "2027-01-31T10:00:00" },
    { action: "create", prompt: "x".repeat(8_001), in_s: 5 },
    { action: "delete" },
  ];
  for (const input of cases) {
    const { text, drafts } = await call(input);
    assert.deepEqual([text, drafts], ["arguments_invalid", []], JSON.stringify(input));
  }
  assert.equal((await call({ action: "delete", id: "sch_1" })).text, "schedule_not_found");
});
