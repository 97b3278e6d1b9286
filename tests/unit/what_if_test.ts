/** Whether recorded calls are judged again as their machine would have judged them, under another policy. */
import assert from "node:assert/strict";
import { HostPolicy } from "../../schemas/config.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { localOperator } from "../../schemas/principal.ts";
import { loadShelved } from "../../src/effects/shelved.ts";
import { type Redecision, WhatIf } from "../../src/records/what_if.ts";
import { replayStream } from "../../src/stream_replay.ts";
import { openStage, settled, type Stage, type StageOptions } from "../support/stage.ts";

const tools = [
  { name: "look" },
  { name: "send", effect: "non_idempotent" as const, approval: "prompt" as const },
];

interface Played {
  readonly stage: Stage;
  readonly session: RootAddress;
}

/** Plays a turn; every question is answered alike. */
async function play(
  options: StageOptions & { readonly decision?: "allow" | "deny" | "always_allow_for_session" },
): Promise<Played> {
  const decision = options.decision ?? "allow";
  const stage = await openStage({ tools, hasAnswerer: () => true, ...options });
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Go on"));
  const { questions } = stage.runtime;
  let isOver = false;
  report.finally(() => isOver = true);
  for (let turns = 0; !isOver && turns < 1_000; turns++) {
    await stage.world.settle();
    for (const { id, shown } of questions.list()) {
      questions.answer(id, { decision, by: localOperator, shown });
    }
  }
  await settled(stage.world, report);
  return { stage, session };
}

async function judge({ stage, session }: Played, policy: unknown): Promise<readonly Redecision[]> {
  const what = new WhatIf(HostPolicy.parse(policy), stage.world.seams.digest);
  const stream = (address: RootAddress, watch: Parameters<typeof replayStream>[0]["watch"] & object) =>
    settled(
      stage.world,
      replayStream({
        address,
        watch,
        pages: stage.runtime.journal.readPages(address),
        digest: stage.world.seams.digest,
        loadShelved: (hash) => loadShelved(stage.runtime.journal, hash),
      }),
    );
  await stream(session.replace("session", "catalog"), (crank, root) => what.watchCatalog(crank, root));
  await settled(stage.world, what.resolve());
  await stream(session, (crank, root) => what.watchSession(crank, root));
  return what.decisions;
}

/** Each call by its name and its two verdicts. */
function verdicts(decisions: readonly Redecision[]): readonly string[] {
  return told(decisions).map((line) => line.split(" ").slice(0, 4).join(" "));
}

/** Each call in short: what was decided, and what would be. */
function told(decisions: readonly Redecision[]): readonly string[] {
  return decisions.map(({ tool, before, after }) =>
    `${tool} ${before.verdict} -> ${after === undefined ? "?" : `${after.verdict} ${after.by}`.trim()}`
  );
}

const answers = [
  { calls: [{ tool: "look" }, { tool: "send", arguments: { text: "a" } }] },
  { text: "Done" },
];

Deno.test("what-if under the policy that was in force decides every call as it was decided", async () => {
  const cases: readonly StageOptions[] = [
    { answers },
    { answers, policy: { deny: ["look"] } },
    { answers, policy: { tools: { look: "prompt", send: "deny" } } },
    { answers, policy: { risk_ceiling: "low", default: "prompt" } },
  ];
  for (const options of cases) {
    const decisions = await judge(await play(options), options.policy ?? {});
    assert.equal(decisions.length, 2);
    for (const { before, after } of decisions) assert.deepEqual(after, before);
  }
});

Deno.test("what-if tells which calls another policy would have asked about, denied or allowed, and by which rule", async () => {
  const played = await play({ answers });
  const cases: readonly (readonly [unknown, readonly string[]])[] = [
    [{ deny: ["lo*"] }, ['look allow -> deny policy.deny of the host names "lo*"', "send ask -> ask"]],
    [{ allow: ["look"] }, [
      "look allow -> allow",
      "send ask -> deny policy.allow of the host does not name it",
    ]],
    [{ tools: { look: "prompt" } }, ["look allow -> ask policy.tools of the host", "send ask -> ask"]],
    [{ risks: { low: "deny" } }, [
      "look allow -> deny policy.risks of the host",
      "send ask -> deny policy.risks",
    ]],
    [{ default: "deny" }, [
      "look allow -> deny policy.default of the host",
      "send ask -> deny policy.default",
    ]],
  ];
  for (const [policy, expected] of cases) {
    const shown = told(await judge(played, policy));
    assert.ok(expected.every((line, index) => shown[index]?.startsWith(line)), shown.join("\n"));
  }
  // What the host forbade then, another policy lets through.
  const denied = await play({ answers, policy: { tools: { look: "deny" }, deny: ["send"] } });
  assert.deepEqual(told(await judge(denied, {})), [
    "look deny -> allow",
    "send deny -> ask approval_policy of the tool or its server",
  ]);
});

Deno.test("what-if leaves alone what no policy decides: names, arguments, earlier answers and refusals", async () => {
  const send = { calls: [{ tool: "send", arguments: { text: "a" } }] };
  const wrong = [{ calls: [{ tool: "gone" }, { tool: "look", arguments: { no: 1 } }] }, { text: "Done" }];
  assert.deepEqual(told(await judge(await play({ answers: wrong }), { deny: ["*"] })), [
    "gone deny -> deny catalog",
    "look deny -> deny schema",
  ]);
  const twice = [send, send, { text: "Done" }];
  // Refused once, refused again, even if policy now asks nobody.
  const refused = await judge(await play({ answers: twice, decision: "deny" }), {});
  assert.deepEqual(verdicts(refused), ["send ask -> ask", "send deny -> deny"]);
  // An answer for the session counts under another policy too, but against no denial.
  const granted = await play({ answers: twice, decision: "always_allow_for_session" });
  assert.deepEqual(verdicts(await judge(granted, {})), [
    "send ask -> ask",
    "send allow -> allow",
  ]);
  // Also where the tool is another one by that policy: the person would have been asked about that one.
  const asks = told(await judge(granted, { tools: { send: "prompt" } }));
  assert.deepEqual(asks, ["send ask -> ask policy.tools of the host", "send allow -> allow session"]);
  const denials = await judge(granted, { deny: ["send"] });
  assert.deepEqual(verdicts(denials), ["send ask -> deny", "send allow -> deny"]);
});
