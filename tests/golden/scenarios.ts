/** The runs that golden journals are recorded from: between them they meet every kind of entry, and most effects. */
import assert from "node:assert/strict";
import type { RootAddress } from "../../schemas/ids.ts";
import { localOperator } from "../../schemas/principal.ts";
import type { Decision } from "../../schemas/question.ts";
import { createDoorRedactor } from "../../src/effects/clean.ts";
import { firstDue } from "../../src/effects/schedule_next.ts";
import { KnownSecrets } from "../../src/redact/known_secrets.ts";
import { call, openFamily } from "../support/family.ts";
import { openStage, settled, type Stage, type StageOptions, type ToolSketch } from "../support/stage.ts";

/** A run that has ended: the session to be recorded, and the runtime that has it. */
export interface Recorded {
  readonly stage: Stage;
  readonly session: RootAddress;
}

const pay: ToolSketch = { name: "pay", effect: "non_idempotent", approval: "prompt" };

/** Gives a prompt; time moves by a second at a time until its turn has ended. */
async function play({ stage, session }: Recorded, text: string): Promise<void> {
  const { report } = await settled(stage.world, stage.runtime.prompt(session, text));
  let isOver = false;
  report.then(() => isOver = true, () => isOver = true);
  for (let seconds = 0; !isOver && seconds < 300; seconds++) await stage.world.advance(1_000);
  await report;
}

/** Gives a prompt, and answers the question that it leads to. */
async function playAsked(run: Recorded, text: string, decision: Decision): Promise<void> {
  const { stage, session } = run;
  const { report } = await settled(stage.world, stage.runtime.prompt(session, text));
  await stage.world.settle();
  await answer(stage, decision);
  await settled(stage.world, report);
}

async function answer({ world, runtime }: Stage, decision: Decision): Promise<void> {
  const [question] = runtime.questions.list();
  assert.ok(question !== undefined, "no question is open");
  const { id, shown } = question;
  const given = { decision, by: localOperator, shown, note: "seen at the counter" };
  await settled(world, runtime.questions.answer(id, given));
  await world.settle();
}

async function open(options: StageOptions): Promise<Recorded> {
  const stage = await openStage(options);
  return { stage, session: await stage.session() };
}

/** The same disk under another runtime. */
async function reopen({ stage, session }: Recorded, options: StageOptions): Promise<Recorded> {
  await settled(stage.world, stage.runtime.journal.writer.idle());
  stage.crash();
  return { stage: await openStage({ world: stage.world, disk: stage.disk, ...options }), session };
}

/** A person allows a call, refuses one, and allows the next for the whole session. */
async function questions(): Promise<Recorded> {
  const asks = { calls: [{ tool: "pay" }] };
  const run = await open({
    tools: [pay],
    answers: [asks, { text: "Paid" }, asks, { text: "Not paid" }, asks, { text: "Paid" }, asks, {
      text: "Done",
    }],
  });
  await playAsked(run, "Pay", "allow");
  await playAsked(run, "Pay again", "deny");
  await playAsked(run, "Pay a third time", "always_allow_for_session");
  await play(run, "And once more");
  return run;
}

/** A model that is not to be had for a moment, a tool that fails twice, a tool that says no, several calls at once. */
async function retries(): Promise<Recorded> {
  let failing = 2;
  const look: ToolSketch = {
    name: "look",
    parallelSafe: true,
    work: () =>
      failing-- > 0
        ? Promise.reject(Object.assign(new Error("Too many open files"), { code: "EMFILE" }))
        : Promise.resolve("seen"),
  };
  const run = await open({
    tools: [look, { name: "read", parallelSafe: true }],
    answers: [
      {
        calls: [{ tool: "look" }, { tool: "read" }, { tool: "nothing" }],
        fail: { code: "model_rate_limited", times: 2 },
      },
      { calls: [{ tool: "read", arguments: { text: 7 } }] },
      { text: "Seen" },
    ],
  });
  await play(run, "Look");
  return run;
}

/** A crash in the middle of a call that could hurt; a person says what became of it. */
async function unknown(): Promise<Recorded> {
  const tools = [{ ...pay, approval: "auto" as const, work: () => new Promise<string>(() => {}) }];
  const script = { tools, answers: [{ calls: [{ tool: "pay" }] }, { text: "It was paid" }] };
  const run = await open(script);
  await settled(run.stage.world, run.stage.runtime.prompt(run.session, "Pay"));
  await run.stage.world.settle();
  const again = await reopen(run, script);
  await again.stage.world.settle();
  await answer(again.stage, "mark_applied");
  await again.stage.world.advance(1_000);
  return again;
}

/** Child agents, their parts of a budget, and the answer of one. */
async function children(): Promise<Recorded> {
  const stage = await openFamily({
    answers: [
      { calls: [call("subagent_spawn", { content: "Count" }), call("hold")] },
      { text: "begun" },
      { text: "heard" },
    ],
    tools: [{ name: "hold" }],
    agent: {
      profiles: {
        main: { allowed_tool_names: ["subagent_*"] },
        worker: { allowed_tool_names: ["hold"], default_subagent: true },
      },
      budget: { tokens: 1_000_000, tool_calls: 100, wall_ms: 600_000 },
    },
  });
  const run = { stage, session: await stage.session() };
  await play(run, "Go");
  await stage.world.advance(1_000);
  await play(run, "And?");
  return run;
}

/** A background task that ends between two turns, and a schedule that prompts twice. */
async function tasks(): Promise<Recorded> {
  await firstDue({ expression: "* * * * *", zone: "UTC" }, 0);
  const ends: (() => void)[] = [];
  const run = await open({
    answers: Array.from({ length: 6 }, (_, index) => ({ text: `Answer ${index + 1}` })),
    workers: {
      "terminal.exec": () =>
        new Promise((resolve) => ends.push(() => resolve({ status: "succeeded", summary: "built" }))),
    },
  });
  const { stage, session } = run;
  await play(run, "Begin");
  await settled(
    stage.world,
    stage.runtime.tasks.open({
      owner: session,
      principal: localOperator,
      key: "build",
      origin: { call: "call/0.0", tool: "terminal" },
      title: "build",
      detached: false,
      silent: false,
      work: { kind: "terminal.exec", arguments: { name: "build" }, cwd: "/" },
    }),
  );
  await stage.world.settle();
  for (const end of ends) end();
  await stage.world.settle();
  await play(run, "What is new?");
  const times = { type: "cron" as const, expression: "*/5 * * * *", zone: "UTC" };
  await settled(
    stage.world,
    stage.runtime.schedules.of(session, "k").create({ times, prompt: "Look again" }),
  );
  await stage.world.advance(600_000);
  return run;
}

/** A result that holds a secret of the host. */
async function redaction(): Promise<Recorded> {
  const known = new KnownSecrets();
  known.add({ value: "k3y-Of-The-D0cs-9f8e7d", name: "DOCS_KEY", source: "env:DOCS_KEY" });
  const run = await open({
    redactor: createDoorRedactor(known, { now: () => 0 }),
    tools: [{ name: "look", work: () => Promise.resolve("the key is k3y-Of-The-D0cs-9f8e7d, use it") }],
    answers: [{ calls: [{ tool: "look" }] }, { text: "I saw a key" }],
  });
  await play(run, "Look for k3y-Of-The-D0cs-9f8e7d");
  return run;
}

/** A turn that is canceled, a session that moves to other code at rest, and its fork. */
async function fork(): Promise<Recorded> {
  const tools = [{ name: "look" }, {
    ...pay,
    work: () => new Promise<string>(() => {}),
    approval: "auto" as const,
  }];
  const answers = [{ calls: [{ tool: "look" }] }, { text: "Seen" }, { calls: [{ tool: "pay" }] }, {
    text: "Well",
  }, {
    text: "Done",
  }];
  const run = await open({ tools, answers, code: `sha256:${"0".repeat(64)}` });
  await play(run, "Look");
  const moved = await reopen(run, { tools, answers });
  const { stage, session } = moved;
  await settled(stage.world, stage.runtime.prompt(session, "Pay"));
  await stage.world.settle();
  const at = (await stage.entries(session)).length;
  const made = await settled(stage.world, stage.runtime.forkSession({ session, at, settle: true }));
  const forked = { stage, session: made.session };
  await play(forked, "Go on");
  const { report } = await settled(stage.world, stage.runtime.prompt(forked.session, "And on"));
  await settled(
    stage.world,
    stage.runtime.send(forked.session, { type: "session.cancel", reason: "enough" }),
  );
  await report;
  return forked;
}

/** All runs, by the name of their golden journal. */
export const scenarios: { readonly [name: string]: () => Promise<Recorded> } = {
  questions,
  retries,
  unknown,
  children,
  tasks,
  redaction,
  fork,
};
