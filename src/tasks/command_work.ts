/**
 * `terminal.exec`: runs the command of a task as the foreground runs one (DM-96), and tells how it ended once nothing of
 * it is left (DM-110).
 */
import { type Failure, failure } from "../../schemas/failure.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import type { TaskOutcome } from "../../schemas/task.ts";
import { lastCharacters } from "../commands/capture.ts";
import { type CommandFacts, headOf, problemOf, valueOf } from "../commands/command_result.ts";
import { launch, type LaunchOptions, planLaunch, readyLaunch } from "../commands/launch.ts";
import { durationOf } from "../commands/plan.ts";
import { cleanFailure } from "../effects/clean.ts";
import type { PerformerResult } from "../effects/performer.ts";
import type { TaskWorker } from "../effects/task_run.ts";
import type { Workspace } from "../tools/workspace.ts";
import { keptTail, type TaskLogs } from "./task_log.ts";

/** Options of {@linkcode createCommandWork}. */
export interface CommandWorkOptions extends LaunchOptions {
  readonly workspaceOf: (session: RootAddress) => Promise<Workspace | Failure>;
  readonly logs: TaskLogs;
}

/** Makes the worker. */
export function createCommandWork(options: CommandWorkOptions): TaskWorker<"terminal.exec"> {
  const { logs, redactor } = options;
  return async (work, { request, signal, note }) => {
    const { task, owner: root } = request.args;
    const workspace = await options.workspaceOf(root);
    if ("code" in workspace) return failed(workspace);
    const planned = await planLaunch(work.arguments, { root, workspace }, options);
    if ("code" in planned) return failed(planned);
    // It may have waited since it was allowed: where it runs is what it was allowed for.
    if (planned.plan.request.cwd !== work.cwd) {
      const why = "its folder leads elsewhere than when it was allowed; call it again";
      return failed(failure("approval_stale", `Cannot run this: ${why}`));
    }
    if (signal.aborted) return canceled("The task was canceled before its command was started");
    const ready = await readyLaunch(planned, { root, name: task }, options);
    if ("code" in ready) return failed(ready);
    const log = logs.begin(task);
    try {
      const launched = await launch(ready, {
        timeoutMs: durationOf(planned.plan),
        idleMs: planned.plan.request.background?.idleMs,
        signal,
        begin: () => () => {},
        note: (type, body) => note?.(type, body),
        onText: (text) => log.take(text),
      }, options);
      switch (launched.kind) {
        case "ended":
          return outcomeOf(launched.facts, log.tail());
        case "lost":
          return { status: "lost", summary: launched.failure.message, result: { log: keptTail(log.tail()) } };
        case "not_started":
          if (launched.isClosed) return canceled("The runtime stopped before the command was started");
          return failed(cleanFailure(redactor, launched.failure));
      }
    } finally {
      logs.end(task);
    }
  };
}

function failed(why: Failure): PerformerResult & { readonly status: "failed" } {
  return { status: "failed", failure: why };
}

function canceled(why: string): PerformerResult & { readonly status: "canceled" } {
  return { status: "canceled", failure: failure("command_canceled", why) };
}

function outcomeOf(facts: CommandFacts, log: string): TaskOutcome {
  const { end, stdout, stderr } = facts;
  const problem = problemOf(facts);
  const preview = lastCharacters(log.trimEnd(), limits.taskPreviewCharactersMax);
  const summary = [
    `${headOf(facts)} after ${(end.durationMs / 1_000).toFixed(1)} s.`,
    ...(problem === undefined || problem.code === "command_failed" ? [] : [`${problem.message}.`]),
    preview === "" ? "It wrote nothing." : `The end of its output:\n${preview}`,
  ];
  const error = problem === undefined ? {} : { error: { code: problem.code, message: problem.message } };
  const result = { ...valueOf(end, stdout, stderr), ...error, log: keptTail(log) };
  return { status: statusOf(facts), summary: summary.join(" "), result };
}

/** What was ended since nobody wanted it, or since the runtime stops, is canceled; what could not be kept has failed. */
function statusOf({ end, stdout, stderr }: CommandFacts): TaskOutcome["status"] {
  if (stdout.hasFailed || stderr.hasFailed) return "failed";
  if (end.reason === "canceled" || end.reason === "interrupted") return "canceled";
  return end.reason === "exited" && end.code === 0 ? "succeeded" : "failed";
}
