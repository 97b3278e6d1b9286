/** Schedules in a whole runtime: prompts come when they are due, over crashes and downtimes, and never twice. */
import assert from "node:assert/strict";
import type { RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { localOperator } from "../../schemas/principal.ts";
import type { ScheduleDraft, ScheduleView } from "../../schemas/schedule.ts";
import { HistoryFold } from "../../src/effects/history_fold.ts";
import { firstDue } from "../../src/effects/schedule_next.ts";
import { scheduleManage } from "../../src/tools/schedule_manage.ts";
import { openStage, settled, type Stage, type StageOptions } from "../support/stage.ts";

/** Its library is loaded before virtual time begins: reading a file takes time of another kind. */
await firstDue({ expression: "* * * * *", zone: "UTC" }, 0);

const minute = 60_000;

/** A cron schedule of every `n` minutes. */
function every(n: number): ScheduleDraft {
  return { times: { type: "cron", expression: `*/${n} * * * *`, zone: "UTC" }, prompt: "Look again" };
}

const answers = Array.from({ length: 50 }, () => ({ text: "Looked." }));

/** Makes a schedule as a call of a session does. */
async function make(
  stage: Stage,
  session: RootAddress,
  draft: ScheduleDraft,
  key = "k",
): Promise<ScheduleView> {
  const made = await settled(stage.world, stage.runtime.schedules.of(session, key).create(draft));
  assert.ok("id" in made, JSON.stringify(made));
  return made;
}

function list(stage: Stage, session: RootAddress): Promise<readonly ScheduleView[]> {
  return settled(stage.world, stage.runtime.schedules.of(session, "list").list());
}

/** The prompts that a session was given by a schedule. */
async function prompts(stage: Stage, session: RootAddress): Promise<readonly string[]> {
  const entries = await stage.entries(session);
  return entries.filter(({ kind, type }) => kind === "input" && type === "session.prompt")
    .map(({ body }) => (body as { message: { text: string } }).message.text);
}

async function notes(stage: Stage, root: RootAddress, type: string): Promise<readonly unknown[]> {
  return (await stage.entries(root)).filter((entry) => entry.type === type).map(({ body }) => body);
}

function addressOf({ id, session }: ScheduleView): RootAddress {
  return `schedule/${id}@${session.slice("session/".length)}`;
}

/** The same disk under another runtime, `ms` later. */
async function after(stage: Stage, ms: number, options: StageOptions = {}): Promise<Stage> {
  stage.crash();
  await stage.world.advance(ms);
  return await openStage({ world: stage.world, disk: stage.disk, answers, ...options });
}

Deno.test("schedule gives its session the prompt whenever it is due, and says when next, when last and how often (DM-16)", async () => {
  const stage = await openStage({ answers });
  const session = await stage.session();
  const start = stage.world.now();
  const made = await make(stage, session, every(5));
  assert.equal(made.dueAtMs, Math.floor(start / (5 * minute) + 1) * 5 * minute);
  await stage.world.advance((made.dueAtMs ?? 0) - stage.world.now() - 1);
  assert.deepEqual(await prompts(stage, session), []);
  await stage.world.advance(1);
  assert.deepEqual(await prompts(stage, session), ["Look again"]);
  await stage.world.advance(10 * minute + 1_000);
  assert.deepEqual(await prompts(stage, session), ["Look again", "Look again", "Look again"]);
  const [view] = await list(stage, session);
  assert.deepEqual(view, {
    ...made,
    dueAtMs: (made.dueAtMs ?? 0) + 15 * minute,
    lastFiredAtMs: (made.dueAtMs ?? 0) + 10 * minute,
    fired: 3,
    lastOutcome: "completed",
  });
  assert.equal((await stage.replay(addressOf(made))).divergence, undefined);
});

Deno.test("schedule's prompt is no person's word in the past of its session", async () => {
  const stage = await openStage({ answers });
  const session = await stage.session();
  await make(stage, session, every(5));
  await stage.world.advance(5 * minute + 1_000);
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "And I say this"));
  await stage.world.advance(1_000);
  await settled(stage.world, report);
  const history = new HistoryFold();
  for (const entry of await stage.entries(session)) history.take(entry);
  assert.deepEqual(history.messages.map(({ who, text }) => [who, text]), [
    ["runtime", "Look again"],
    ["agent", "Looked."],
    ["person", "And I say this"],
    ["agent", "Looked."],
  ]);
});

Deno.test("schedule that is due once ends with its prompt, and is listed no more", async () => {
  const stage = await openStage({ answers });
  const session = await stage.session();
  const dueAtMs = stage.world.now() + minute;
  const made = await make(stage, session, { times: { type: "once", dueAtMs }, prompt: "Now" });
  await stage.world.advance(10 * minute);
  assert.deepEqual(await prompts(stage, session), ["Now"]);
  assert.deepEqual(await list(stage, session), []);
  const states = await notes(stage, addressOf(made), "schedule.state");
  assert.deepEqual(states.at(-1), {
    status: "done",
    dueAtMs: null,
    lastFiredAtMs: dueAtMs,
    fired: 1,
    missed: 0,
    lastOutcome: "completed",
  });
});

Deno.test("schedule that fell due often while nothing ran fires once at the next start, and says so", async () => {
  const first = await openStage({ answers });
  const session = await first.session();
  const made = await make(first, session, every(1));
  const second = await after(first, 30 * minute + 30_000);
  await second.world.settle();
  assert.deepEqual(await prompts(second, session), ["Look again"]);
  const [fired] = await notes(second, addressOf(made), "schedule.fired");
  const lateMs = second.world.now() - (made.dueAtMs ?? 0);
  assert.deepEqual(fired, { dueAtMs: made.dueAtMs, lateMs, isOverdue: true });
  const [view] = await list(second, session);
  // It was due 30 times or 31, by where in its minute the test began; one of those was done.
  const due = Math.floor(lateMs / minute);
  assert.deepEqual([view?.fired, view?.missed], [1, due]);
  await second.world.advance(minute);
  assert.equal((await prompts(second, session)).length, 2);
  const [, next] = await notes(second, addressOf(made), "schedule.fired") as { isOverdue: boolean }[];
  assert.equal(next?.isOverdue, false);
});

Deno.test("schedule waits over a crash and acts once, whenever the crash comes", async () => {
  const first = await openStage({ answers });
  const session = await first.session();
  const dueAtMs = first.world.now() + 10 * minute;
  await make(first, session, { times: { type: "once", dueAtMs }, prompt: "Now" });
  const second = await after(first, minute);
  assert.equal(second.runtime.recovery.timers, 1);
  await second.world.advance(9 * minute - 1_000);
  assert.deepEqual(await prompts(second, session), []);
  await second.world.advance(1_000);
  const third = await after(second, minute);
  await third.world.advance(minute);
  assert.deepEqual(await prompts(third, session), ["Now"]);
});

Deno.test("schedule sleeps until it is due, and is woken by its timer", async () => {
  const stage = await openStage({ answers, runtime: { awakeMax: 0 } });
  const session = await stage.session();
  const made = await make(stage, session, every(5));
  await stage.world.advance(1_000);
  await settled(stage.world, stage.runtime.rest());
  assert.equal(stage.runtime.kernel.roots.has(addressOf(made)), false);
  await stage.world.advance(5 * minute);
  assert.deepEqual(await prompts(stage, session), ["Look again"]);
});

Deno.test("schedule passes over what falls due while its last prompt is unanswered", async () => {
  const stage = await openStage({
    answers: [{ calls: [{ tool: "pay" }] }, ...answers],
    tools: [{ name: "pay", effect: "non_idempotent", approval: "prompt" }],
  });
  const session = await stage.session();
  const made = await make(stage, session, every(1));
  // A turn that waits for a person is not over.
  await stage.world.advance((made.dueAtMs ?? 0) - stage.world.now() + 3 * minute);
  assert.equal((await prompts(stage, session)).length, 1);
  const [before] = await list(stage, session);
  assert.deepEqual([before?.fired, before?.missed, before?.lastOutcome], [1, 3, null]);
  const [question] = stage.runtime.questions.list();
  assert.ok(question);
  await settled(
    stage.world,
    Promise.resolve(
      stage.runtime.questions.answer(question.id, {
        decision: "deny",
        by: localOperator,
        shown: question.shown,
      }),
    ),
  );
  await stage.world.advance(minute);
  assert.equal((await prompts(stage, session)).length, 2);
});

Deno.test("schedule that is deleted never acts again; one that has ended stays as it is", async () => {
  const stage = await openStage({ answers });
  const session = await stage.session();
  const made = await make(stage, session, every(1));
  const schedules = stage.runtime.schedules.of(session, "k2");
  const gone = await settled(stage.world, schedules.remove(made.id));
  assert.deepEqual("status" in gone && [gone.status, gone.dueAtMs], ["deleted", null]);
  await stage.world.advance(10 * minute);
  const second = await after(stage, 10 * minute);
  assert.deepEqual([await prompts(second, session), await list(second, session)], [[], []]);
  assert.equal(second.runtime.recovery.timers, 0);
  const again = await settled(second.world, second.runtime.schedules.of(session, "k3").remove(made.id));
  assert.equal("status" in again && again.status, "deleted");
});

Deno.test("schedule of another session looks like one that is not there", async () => {
  const stage = await openStage({ answers });
  const [mine, other] = [await stage.session(), await stage.session()];
  const made = await make(stage, other, every(1));
  const schedules = stage.runtime.schedules.of(mine, "k2");
  assert.deepEqual(await settled(stage.world, schedules.list()), []);
  const foreign = await settled(stage.world, schedules.remove(made.id));
  const none = await settled(stage.world, schedules.remove(made.id.replace(/.$/, "0")));
  const codeOf = (result: object) => "code" in result ? result.code : "";
  assert.deepEqual([codeOf(foreign), codeOf(none)], ["schedule_not_found", "schedule_not_found"]);
  assert.equal(
    ("message" in foreign ? foreign.message : "").replaceAll(made.id, "ID"),
    ("message" in none ? none.message : "x").replace(/sch_\w+/, "ID"),
  );
  assert.equal((await list(stage, other)).length, 1);
});

Deno.test("schedules of one session are 32 at most: another has room of its own", async () => {
  const stage = await openStage({ answers });
  const [session, other] = [await stage.session(), await stage.session()];
  const all: ScheduleView[] = [];
  for (let n = 0; n < limits.schedulesPerSessionMax; n++) {
    all.push(await make(stage, session, every(59), `k${n}`));
  }
  const more = await settled(stage.world, stage.runtime.schedules.of(session, "more").create(every(59)));
  assert.equal("code" in more && more.code, "schedules_full");
  await make(stage, other, every(59));
  await settled(stage.world, stage.runtime.schedules.of(session, "k").remove(all[0]?.id ?? ""));
  await make(stage, session, every(59), "again");
});

Deno.test("schedule refuses times that never come, are over, lie too far off, or that nobody can read", async () => {
  const stage = await openStage({ answers });
  const session = await stage.session();
  const cron = (expression: string, zone = "UTC") => ({ type: "cron" as const, expression, zone });
  const once = (dueAtMs: number) => ({ type: "once" as const, dueAtMs });
  const now = stage.world.now();
  const cases: readonly (readonly [ScheduleDraft["times"], RegExp])[] = [
    [cron("0 0 30 2 *"), /never comes/],
    [cron("61 * * * *"), /Cannot read the times "61 \* \* \* \*"/],
    [cron("* * * * *", "Europe/Nowhere"), /no time zone "Europe\/Nowhere"/],
    [once(now), /over already/],
    [once(now + limits.scheduleAheadMsMax + 1), /too far off/],
  ];
  for (const [index, [times, why]] of cases.entries()) {
    const schedules = stage.runtime.schedules.of(session, `k${index}`);
    const refused = await settled(stage.world, schedules.create({ times, prompt: "x" }));
    assert.equal("code" in refused && refused.code, "arguments_invalid");
    assert.match("message" in refused ? refused.message : "", why);
  }
  assert.deepEqual(await list(stage, session), []);
});

Deno.test("schedule keeps the hours of its time zone when the clocks change", async () => {
  const times = { expression: "0 9 * * *", zone: "Europe/Berlin" };
  const day = async (from: string) => {
    const due = await firstDue(times, Date.parse(from));
    return typeof due === "number" ? new Date(due).toISOString() : due;
  };
  assert.equal(await day("2027-03-27T12:00:00Z"), "2027-03-28T07:00:00.000Z");
  assert.equal(await day("2027-10-30T12:00:00Z"), "2027-10-31T08:00:00.000Z");
});

Deno.test("schedule made by a call is made once, though the call is repeated after a crash (GA-54)", async () => {
  const arguments_ = { action: "create", cron: "*/5 * * * *", prompt: "Look again" };
  const properties = { action: {}, cron: {}, prompt: {} };
  let isCut = true;
  const runs: { first?: Stage } = {};
  const tool = {
    name: "schedule_manage",
    effect: "conditional" as const,
    mechanism: "key" as const,
    properties,
    work: async (use: Parameters<typeof scheduleManage.handler>[1], input: unknown) => {
      const result = await scheduleManage.handler(input, use);
      if (!isCut) return result;
      // The schedule is durable, and the call never says so.
      runs.first?.crash();
      return await new Promise<never>(() => {});
    },
  };
  const script = [
    { calls: [{ tool: "schedule_manage", arguments: arguments_ }] },
    { text: "Made." },
    ...answers,
  ];
  const stage = await openStage({ answers: script, tools: [tool] });
  runs.first = stage;
  const session = await stage.session();
  const { accepted, report } = await settled(stage.world, stage.runtime.prompt(session, "Go."));
  report.catch(() => {});
  await settled(stage.world, accepted());
  await stage.world.settle();
  isCut = false;
  const { world, disk, ledger } = stage;
  const next = await openStage({ world, disk, ledger, answers: script, tools: [tool] });
  await next.world.advance(minute / 2);
  assert.equal(ledger.length, 2);
  const all = next.runtime.listRoots().filter(({ kind }) => kind === "schedule");
  assert.equal(all.length, 1);
  const turn = (await next.entries(session)).find(({ kind, type }) => kind === "reply" || type === "reply");
  assert.match(JSON.stringify(turn?.body), /completed/);
});

Deno.test("schedule holds no secret of its prompt: it is taken out before anything is kept", async () => {
  const stage = await openStage({ answers });
  const session = await stage.session();
  const secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
  const made = await make(stage, session, { ...every(1), prompt: `Use ${secret} then` });
  const entries = JSON.stringify(await stage.entries(addressOf(made)));
  assert.equal(entries.includes(secret), false);
  assert.equal(made.prompt.includes(secret), false);
});

Deno.test("schedule does not become due in a runtime that holds schedules, and does in the next", async () => {
  const first = await openStage({ answers });
  const session = await first.session();
  await make(first, session, every(1));
  const second = await after(first, 5 * minute, { runtime: { holdsSchedules: true } });
  await second.world.advance(5 * minute);
  assert.deepEqual(await prompts(second, session), []);
  const third = await after(second, 1);
  await third.world.settle();
  assert.equal((await prompts(third, session)).length, 1);
});
