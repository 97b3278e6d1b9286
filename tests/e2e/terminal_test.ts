/** Commands of agents through the real `troupe`: asked about, run, redacted, ended, and never run again unasked. */
import assert from "node:assert/strict";
import {
  bodiesOf,
  callOf,
  entriesOf,
  findMarked,
  firstTurn,
  type Line,
  markOf,
  nextTurn,
  onMcpStage,
  startWith,
  testProcesses,
  until,
  untilNone,
} from "./mcp_stage.ts";
import { assertRefused, linesOf, type Stage } from "./troupe.ts";

interface Sketch {
  readonly commands?: readonly Line[];
  readonly capabilities?: readonly string[];
  readonly host?: Line;
}

/** An agent whose model runs these commands, one a step. */
async function writeAgent(
  stage: Stage,
  { commands = [], capabilities = [], host = {} }: Sketch,
): Promise<void> {
  const answers = [...commands.map((command) => ({ calls: [callOf("terminal", command)] })), {
    text: "finished",
  }];
  await stage.write({
    "agent/agent.yaml": JSON.stringify({
      name: "hand",
      model: "scripted/script.yaml",
      tools: ["terminal"],
      capabilities: ["terminal.exec", ...capabilities],
    }),
    "agent/script.yaml": JSON.stringify({ answers }),
    "ws/a.txt": "alpha\n",
    "config/troupe/troupe.yaml": JSON.stringify(host),
  });
}

/** A call of the terminal from the command line. */
function called(given: Line, ...more: readonly string[]): string[] {
  return ["call", "agent", "terminal", JSON.stringify(given), "--workspace", "ws", ...more];
}

Deno.test("run asks about a command with its reasons and the whole of it, runs it, and every step replays", async () => {
  await onMcpStage(async (stage) => {
    const long = "x".repeat(3_000);
    await writeAgent(stage, {
      commands: [{ argv: ["sh", "-c", "cat a.txt; exit $#", "sh", long] }],
      capabilities: ["shell"],
    });
    const running = stage.start(...firstTurn, "--answer", "wait");
    await running.until("A question waits");
    const [question] = linesOf(await stage.output("questions", "--json"));
    const { subject, whole, shown, decisions } = question ?? {};
    const { tool, risk, reason } = subject as Line;
    assert.deepEqual([tool, risk], ["terminal", "high"]);
    assert.match(String(reason), /needs a person/);
    assert.ok(String(whole).includes(long), "all that is approved is shown");
    // A shell runs whatever it is told: its approval is for this once.
    assert.deepEqual(decisions, ["allow", "deny"]);
    await stage.output("answer", String(question?.["id"]), "allow", "--shown", String(shown));
    const ended = await running.ended;
    assert.equal(ended.code, 0, ended.err);
    assert.match(ended.out, /✗ terminal .* completed_with_error {2}command_failed/);
    const log = await entriesOf(stage, "last");
    assert.deepEqual(bodiesOf(log, "outcome", "command.review").map(({ status }) => status), ["ok"]);
    const [report] = bodiesOf(log, "note", "command.ended");
    assert.deepEqual([report?.["state"], report?.["exitCode"]], ["failed", 1]);
    // The record comes first: what was to be run is on the disk before it runs (CM-119).
    const order = log.map(({ kind, type }) => `${kind} ${type}`);
    assert.ok(order.indexOf("intent tool.call") < order.indexOf("note command.started"));
    assert.match(
      await stage.output("log", "last"),
      /command\.started +call\/0\.0 .*\/sh in .*\/ws, \d+ variables/,
    );
    assert.match(await stage.output("replay", "last", "--strict"), /no divergence/);
  });
});

Deno.test("call of a command that is refused runs nothing: no person, no right, no listed variable, another folder (B46)", async () => {
  await onMcpStage(async (stage) => {
    await writeAgent(stage, { host: { commands: { environment: ["CI"] } } });
    const touch = { argv: ["touch", "marker"] };
    assertRefused(await stage.run(...called(touch)), 1, "approval_unavailable");
    assertRefused(await stage.run(...called(touch, "--answer", "deny")), 1, "approval_denied");
    const refusals: readonly (readonly [Line, string])[] = [
      [{ shell: "touch marker" }, "capability_missing"],
      [{ argv: ["bash", "-c", "touch marker"] }, "capability_missing"],
      [{ ...touch, secrets: [{ variable: "A", source: "env:PATH" }] }, "capability_missing"],
      [{ ...touch, env: { DEBUG: "needle" } }, "env_key_denied"],
      [{ ...touch, env: { LD_PRELOAD: "needle" } }, "env_key_denied"],
      [{ ...touch, cwd: ".." }, "path_outside_root"],
      [{ argv: ["no-such-program"] }, "spawn_failed"],
    ];
    for (const [given, code] of refusals) {
      const ended = await stage.run(...called(given, "--answer", "allow"));
      assertRefused(ended, 1, code);
      assert.doesNotMatch(ended.err, /needle/);
    }
    assert.deepEqual([...Deno.readDirSync(stage.path("ws"))].map(({ name }) => name), ["a.txt"]);
    const allowed = called({ argv: ["sh", "-c", "echo $CI"], env: { CI: "yes" } }, "--answer", "allow");
    await writeAgent(stage, { capabilities: ["shell"], host: { commands: { environment: ["CI"] } } });
    assert.match(await stage.output(...allowed), /^exit code 0\nstdout:\nyes\n/);
  });
});

Deno.test("command's secret reaches the command and nothing else: not the output, the journal, the artifact, or an export (DM-82, DM-86, DM-101)", async () => {
  await onMcpStage(async (stage) => {
    const needle = "needle-3f9c-Qx71-vault";
    const secrets = [{ variable: "KEY", source: "DEPLOY_KEY" }, {
      variable: "OTHER",
      source: "env:OTHER_KEY",
    }];
    const script = 'printf %s "$KEY" > got; echo "$KEY"; printf %s "$OTHER" | base64; echo "$OTHER" >&2';
    await writeAgent(stage, {
      commands: [{ argv: ["sh", "-c", script], secrets }],
      capabilities: ["shell", "secret.bind:DEPLOY_KEY", "secret.bind:OTHER_KEY"],
      host: { secrets: { DEPLOY_KEY: "env:DEPLOY_KEY" } },
    });
    const variables = { DEPLOY_KEY: needle, OTHER_KEY: `${needle}-2` };
    const ended = await (await startWith(stage, variables, ...firstTurn, "--answer", "allow")).ended;
    assert.equal(ended.code, 0, ended.out + ended.err);
    assert.equal(await Deno.readTextFile(stage.path("ws/got")), needle);
    for (const given of ["ws/got", "variables"]) await Deno.remove(stage.path(given));
    await stage.output("export", "last", "-o", "out.jsonl");
    const shown = [
      ended.out,
      ended.err,
      await stage.output("log", "last", "--json"),
      await stage.output("invocations", "last", "--json"),
    ];
    for (const text of shown) assert.ok(!text.includes("3f9c"), text);
    assert.match(shown[2] ?? "", /"secrets":\[\{"variable":"KEY","source":"DEPLOY_KEY"\}/);
    const { stdout } = await new Deno.Command("grep", { args: ["-rlaE", "3f9c|M2Y5Y", stage.folder] })
      .output();
    assert.equal(new TextDecoder().decode(stdout), "", "no file on the disk holds it");
    const found = await new Deno.Command("grep", {
      args: ["-rl", "redacted", stage.path("store.db.artifacts")],
    }).output();
    assert.equal(new TextDecoder().decode(found.stdout).trim().split("\n").length, 2);
  });
});

Deno.test("call reads unasked, asks about the rest, and never runs what is blocked, whoever allows it (DM-16, DM-94)", async () => {
  await onMcpStage(async (stage) => {
    await writeAgent(stage, { capabilities: ["shell"] });
    assert.match(await stage.output(...called({ argv: ["cat", "a.txt"] })), /^exit code 0\nstdout:\nalpha\n/);
    assertRefused(await stage.run(...called({ argv: ["cat", "gone.txt"] })), 1, "command_failed");
    assertRefused(await stage.run(...called({ shell: "cat a.txt | wc" })), 1, "approval_unavailable");
    const harmful = called({ shell: "touch marker; echo x | sudo -S true" }, "--answer", "allow");
    assertRefused(await stage.run(...harmful), 1, "command_blocked", "sudo-password");
    await writeAgent(stage, { host: { policy: { capabilities: { "terminal.exec": "deny" } } } });
    assertRefused(await stage.run(...called({ argv: ["cat", "a.txt"] })), 1, "policy_denied");
    await writeAgent(stage, { host: { policy: { tools: { terminal: "prompt" } } } });
    assertRefused(await stage.run(...called({ argv: ["cat", "a.txt"] })), 1, "approval_unavailable");
    assert.deepEqual([...Deno.readDirSync(stage.path("ws"))].map(({ name }) => name), ["a.txt"]);
  });
});

// I1: what was under way at the crash is asked about, and not run again.
testProcesses(
  "command of a runtime that was killed is ended at the next start, and a person says what became of it (CM-119, DM-104)",
  async (stage) => {
    const script = "trap '' TERM; echo run >> ledger; sleep 1000 & wait; sleep 1000";
    const command = { argv: ["sh", "-c", script, "sh", markOf(stage, "command")] };
    await writeAgent(stage, { commands: [command], capabilities: ["shell"] });
    const running = stage.start(...firstTurn, "--answer", "allow");
    const lines = async () =>
      (await Deno.readTextFile(stage.path("ws/ledger")).catch(() => "")).split("\n").length - 1;
    await until("the command runs", async () => await lines() === 1);
    running.signal("SIGKILL");
    await running.ended;
    assert.ok(findMarked(markOf(stage)).length > 0, "it has outlived its runtime");
    const next = stage.start(...nextTurn, "--answer", "wait");
    await next.until("A question waits");
    await untilNone(markOf(stage));
    const [question] = linesOf(await stage.output("questions", "--json"));
    assert.deepEqual(question?.["decisions"], ["run_again", "mark_applied", "mark_not_applied", "abandon"]);
    assert.match(await stage.output("questions"), /This call may have happened/);
    await stage.output("answer", String(question?.["id"]), "abandon", "--note", "nobody knows");
    const ended = await next.ended;
    assert.match(ended.out + ended.err, /swept|finished/);
    const [outcome] = bodiesOf(await entriesOf(stage, "last"), "outcome", "tool.call");
    assert.equal(outcome?.["status"], "unknown");
    assert.equal(await lines(), 1, "nobody ran it again");
    assert.match(await stage.output("replay", "last", "--strict"), /no divergence/);
  },
);

testProcesses(
  "command of a turn that is canceled is gone when the turn says so, and the cancel is answered then (CM-118, DM-138, ask 7)",
  async (stage) => {
    const script = "trap '' TERM; sleep 1000 & touch started; wait; sleep 1000";
    const command = { argv: ["sh", "-c", script, "sh", markOf(stage, "command")] };
    await writeAgent(stage, { commands: [command], capabilities: ["shell"] });
    const running = stage.start(...firstTurn, "--answer", "allow");
    await until("the command runs", () => Deno.stat(stage.path("ws/started")).then(() => true, () => false));
    const said = await stage.output("cancel", "last");
    assert.deepEqual(findMarked(markOf(stage)), []);
    assert.match(
      said,
      /^Stopped {4}turn\/1\/call\/0\.0 \(terminal\): completed_with_error\nStopped {4}turn\/1: canceled\n/,
    );
    const ended = await running.ended;
    assert.deepEqual(findMarked(markOf(stage)), []);
    assertRefused(ended, 1, "turn_canceled");
    const [report] = bodiesOf(await entriesOf(stage, "last"), "note", "command.ended");
    assert.deepEqual([report?.["state"], report?.["signal"]], ["canceled", "SIGKILL"]);
  },
);

testProcesses(
  "command of a runtime that is interrupted is ended with it, and its end is on record (CM-118, DM-104)",
  async (stage) => {
    const script = "trap '' TERM; sleep 1000 & touch started; wait; sleep 1000";
    const command = { argv: ["sh", "-c", script, "sh", markOf(stage, "command")] };
    await writeAgent(stage, { commands: [command], capabilities: ["shell"] });
    const running = stage.start(...firstTurn, "--answer", "allow");
    await until("the command runs", () => Deno.stat(stage.path("ws/started")).then(() => true, () => false));
    running.signal("SIGTERM");
    await running.ended;
    assert.deepEqual(findMarked(markOf(stage)), []);
    const [report] = bodiesOf(await entriesOf(stage, "last"), "note", "command.ended");
    assert.equal(report?.["state"], "interrupted");
  },
);
