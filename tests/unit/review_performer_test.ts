/** The look at a call's command: of what the model wrote, without a secret in its reasons, and never a way around it. */
import assert from "node:assert/strict";
import { internCatalog } from "../../actors/library.ts";
import type { CommandReview } from "../../schemas/command_review.ts";
import type { JsonObject } from "../../schemas/json.ts";
import type { CommandRequest } from "../../src/commands/review.ts";
import { createDoorRedactor } from "../../src/effects/clean.ts";
import { type CommandReviewOptions, createCommandReview } from "../../src/effects/command_review.ts";
import type { PerformerResult } from "../../src/effects/performer.ts";
import { RawArguments } from "../../src/effects/raw_arguments.ts";
import { terminal } from "../../src/tools/terminal.ts";
import { catalogWith, entryFor, withFolder, workspaceAt } from "../support/tools.ts";
import { createWorld, type World } from "../support/world.ts";

const root = "session/ses_1";
const catalog = catalogWith(entryFor(terminal.definition));
const hash = `sha256:${"7".repeat(64)}`;
internCatalog(hash, catalog);

const found: CommandReview = {
  verdict: "prompt",
  risk: "high",
  findings: [{ rule: "unknown-command", verdict: "prompt", why: "nobody knows it" }],
  identity: `sha256:${"8".repeat(64)}`,
};

interface Stage {
  readonly folder: string;
  readonly world: World;
  readonly raw: RawArguments;
  readonly seen: CommandRequest[];
  look(
    given: JsonObject,
    more?: { readonly redacted?: true; readonly signal?: AbortSignal },
  ): Promise<PerformerResult>;
}

async function onStage(
  play: (stage: Stage) => Promise<void>,
  review: CommandReviewOptions["review"] = () => found,
): Promise<void> {
  await withFolder({ "ws/deep/": "", "outside/": "" }, async (folder) => {
    const world = createWorld();
    const workspace = await workspaceAt(`${folder}/ws`);
    const raw = new RawArguments();
    const seen: CommandRequest[] = [];
    const perform = createCommandReview({
      workspaceOf: () => workspace,
      ownersHome: "/home/owner",
      environment: ["CI"],
      redactor: createDoorRedactor(),
      rawArguments: raw,
      seams: world.seams,
      review: (request, ground) => {
        seen.push(request);
        return review(request, ground);
      },
    });
    const look: Stage["look"] = (given, { redacted, signal = new AbortController().signal } = {}) =>
      perform({
        root,
        id: "1.0",
        key: "1.0",
        attempt: 1,
        request: {
          port: "command.review",
          effect: "idempotent",
          args: {
            invocation: "call/0.0",
            entry: { catalog: hash, name: "terminal" },
            arguments: given,
            ...(redacted === undefined ? {} : { redacted }),
          },
          deadlineAtMs: world.now() + 30_000,
        },
        signal,
        report: () => {},
      });
    await play({ folder, world, raw, seen, look });
  });
}

function codeOf(result: PerformerResult): string {
  return result.status === "ok" ? "ok" : `${result.status} ${result.failure.code}`;
}

Deno.test("look is told the command as it would run: its real folder, its variables, its time", () =>
  onStage(async ({ folder, seen, look }) => {
    const result = await look({ argv: ["ls", "-l"], cwd: "deep/../deep", env: { CI: "1" } });
    assert.deepEqual(result, { status: "ok", value: found });
    const cwd = await Deno.realPath(`${folder}/ws/deep`);
    await look({ shell: "ls | wc" });
    assert.deepEqual(seen, [
      { argv: ["ls", "-l"], cwd, env: { CI: "1" }, timeoutMs: 30_000 },
      { shell: "ls | wc", cwd: cwd.replace(/\/deep$/, ""), env: {}, timeoutMs: 30_000 },
    ]);
  }));

Deno.test("look refuses what could not be run anyway, and asks nobody about it", () =>
  onStage(async ({ seen, look }) => {
    assert.equal(codeOf(await look({ argv: ["ls"], cwd: ".." })), "failed path_outside_root");
    assert.equal(codeOf(await look({ argv: ["ls"], env: { DEBUG: "1" } })), "failed env_key_denied");
    assert.equal(codeOf(await look({ argv: ["a\0"] })), "failed arguments_invalid");
    assert.deepEqual(seen, []);
  }));

Deno.test("look is at what the model wrote, and its reasons say nothing that was taken out", async () => {
  const secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
  const shown = { argv: ["login", "[redacted]"] };
  const wrote = { argv: ["login", secret] };
  const review = () => ({ ...found, findings: [{ ...found.findings[0]!, why: `login gets ${secret}` }] });
  await onStage(async ({ raw, seen, look }) => {
    raw.keep(root, [{ ordinal: "call/0.0", name: "terminal", raw: wrote, shown }]);
    const result = await look(shown, { redacted: true });
    assert.deepEqual(seen.at(-1)?.argv, wrote.argv);
    assert.equal(result.status, "ok");
    assert.match(JSON.stringify(result), /login gets \[redacted\]/);
    raw.drop(root, "call/0.0");
    assert.equal(codeOf(await look(shown, { redacted: true })), "failed arguments_gone");
  }, review);
});

Deno.test("look that breaks, yields no review, or never ends is a failure: the call is then not made", async () => {
  const broken = () => {
    throw new Error("needle");
  };
  await onStage(async ({ world, look }) => {
    const result = await look({ argv: ["ls"] });
    assert.equal(codeOf(result), "failed tool_failed");
    assert.ok(!JSON.stringify([result, world.logs]).includes("needle"));
  }, broken);
  await onStage(
    async ({ look }) => assert.equal(codeOf(await look({ argv: ["ls"] })), "failed tool_failed"),
    () => ({ ...found, verdict: "fine" }) as never,
  );
  await onStage(async ({ world, look }) => {
    const looking = look({ argv: ["ls"] });
    await world.advance(30_000);
    assert.equal(codeOf(await looking), "failed tool_failed");
    const stop = new AbortController();
    const other = look({ argv: ["ls"] }, { signal: stop.signal });
    stop.abort();
    assert.equal(codeOf(await other), "canceled tool_canceled");
  }, () => new Promise(() => {}));
});
