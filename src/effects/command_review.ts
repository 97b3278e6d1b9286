/** `command.review`: looks at the command that a call would run, and runs nothing. */
import { entryOf } from "../../actors/library.ts";
import { CommandReview } from "../../schemas/command_review.ts";
import { type Failure, failure } from "../../schemas/failure.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { Json, JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { planCommand } from "../commands/plan.ts";
import { type CommandGround, type CommandRequest, reviewCommand } from "../commands/review.ts";
import type { Redactor } from "../redact/redactor.ts";
import type { Seams } from "../seams.ts";
import type { Workspace } from "../tools/workspace.ts";
import { runUntil } from "./deadline.ts";
import type { Performance, Performer, PerformerResult } from "./performer.ts";
import type { RawArguments } from "./raw_arguments.ts";

/** Judges one command. What it throws is no verdict: the command is then not run. */
export type Reviewer = (
  request: CommandRequest,
  ground: CommandGround,
) => CommandReview | Promise<CommandReview>;

/** Options of {@linkcode createCommandReview}. */
export interface CommandReviewOptions {
  readonly workspaceOf: (root: RootAddress) => Workspace;
  /** The home of whoever runs this: no command has it, and none may do it harm. */
  readonly ownersHome: string;
  /** Variables that the host lets calls set. */
  readonly environment: readonly string[];
  readonly redactor: Redactor;
  readonly rawArguments: RawArguments;
  readonly seams: Seams;
  /** The one that comes with the runtime by default. */
  readonly review?: Reviewer;
}

/** Performs one look. Anything that goes wrong is a failure, and a call whose look failed is not made. */
export function createCommandReview(options: CommandReviewOptions): Performer<"command.review"> {
  const { clock } = options.seams;
  return async (performance) => {
    const deadlineAtMs = performance.request.deadlineAtMs ?? clock.now() + limits.commandReviewMs;
    const bounds = { clock, deadlineAtMs, signal: performance.signal };
    const ended = await runUntil(bounds, () => look(performance, options));
    switch (ended.type) {
      case "done":
        return ended.value;
      case "canceled":
        return { status: "canceled", failure: failure("tool_canceled", "The call was canceled") };
      case "late":
        return failed(failure("tool_failed", "Cannot run this: its command could not be looked at in time"));
      case "threw": {
        const kind = ended.error instanceof Error ? ended.error.name : typeof ended.error;
        options.seams.log({ level: "error", event: "command.review_failed", detail: { kind } });
        return failed(failure("tool_failed", "Cannot run this: its command could not be looked at"));
      }
    }
  };
}

async function look(
  { root, request }: Performance<"command.review">,
  options: CommandReviewOptions,
): Promise<PerformerResult> {
  const { workspaceOf, environment, redactor, rawArguments, seams, review = reviewCommand } = options;
  const { args } = request;
  const given = args.redacted === undefined ? args.arguments : rawArguments.of(root, {
    ordinal: args.invocation,
    name: entryOf(args.entry)?.providerName ?? "",
    shown: args.arguments,
  });
  if (given === undefined) return failed(argumentsGone(args.entry.name));
  const workspace = workspaceOf(root);
  const plan = await planCommand(given, { workspace, environment });
  if ("code" in plan) return failed(plan);
  const folder = await workspace.realFolder(".");
  if (!folder.ok) return failed(folder.failure);
  const ground = {
    workspace: folder.value,
    home: options.ownersHome,
    digest: seams.digest,
  };
  const found = CommandReview.parse(await review(plan.request, ground));
  // Reasons may show pieces of the command, and it may hold a secret.
  const clean = cleanReview(args.redacted === undefined ? redactor : remembering(redactor, given), found);
  return { status: "ok", value: clean as unknown as Json };
}

function remembering(redactor: Redactor, given: JsonObject): Redactor {
  const one = redactor.remembering();
  one.json(given, "model");
  return one;
}

function cleanReview(redactor: Redactor, found: CommandReview): CommandReview {
  const findings = found.findings.map((finding) => ({
    ...finding,
    why: redactor.text(finding.why, "model").value.slice(0, 300),
  }));
  return { ...found, findings };
}

function argumentsGone(name: string): Failure {
  return failure(
    "arguments_gone",
    `The arguments of "${name}" held a secret, which was in memory only, and the runtime was started anew since: make ` +
      "the call again with all that it needs",
  );
}

function failed(problem: Failure): PerformerResult {
  return { status: "failed", failure: problem };
}
