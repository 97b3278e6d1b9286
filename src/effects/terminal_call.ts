/** Calls of the tool `terminal`: the command that was judged is run to its real end, or goes on as a task. */
import { failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import type { TaskRecord } from "../../schemas/task.ts";
import { commandEnvelope } from "../commands/command_result.ts";
import {
  launch,
  type LaunchOptions,
  planLaunch,
  type PlannedCommand,
  readyLaunch,
} from "../commands/launch.ts";
import { durationOf } from "../commands/plan.ts";
import { textEnvelope } from "../tools/tool.ts";
import { head, visible } from "../tools/visible.ts";
import type { Adapter, Attempt, Routed } from "./adapter.ts";

/** Time that is kept back from a call's own, to end its command and to say so. Milliseconds. */
const reserveMs = limits.commandEndingMs / 2;

/** Options of {@linkcode createTerminalCall}. */
export interface TerminalCallOptions extends LaunchOptions {
  /** True if this runtime goes on when the turn and its tasks have ended: only then may a task be detached. */
  readonly goesOn: boolean;
}

/** Makes the adapter. Whatever ends before the start certainly did nothing; what was started is followed to its end. */
export function createTerminalCall(options: TerminalCallOptions): Adapter {
  return async (routed) => {
    const { arguments: given, root, use } = routed;
    const planned = await planLaunch(given, { root, workspace: use.cwd }, options);
    if ("code" in planned) return { kind: "not_started", failure: planned };
    if (planned.plan.request.background !== undefined) return await open(planned, routed, options);
    const ready = await readyLaunch(planned, { root, name: options.seams.nextId("cmd") }, options);
    if ("code" in ready) return { kind: "not_started", failure: ready };
    const leftMs = Math.max(0, use.deadlineAtMs - options.seams.clock.now() - reserveMs);
    const launched = await launch(ready, {
      timeoutMs: Math.min(durationOf(planned.plan), leftMs),
      signal: use.signal,
      begin: routed.begin,
      note: (type, body) => routed.note(type, { ordinal: routed.ordinal, ...body }),
    }, options);
    if (launched.kind === "ended") return { kind: "returned", envelope: commandEnvelope(launched.facts) };
    return { kind: launched.kind, failure: launched.failure };
  };
}

/** Opens the task that runs it: under the same gates, and planned once more when it begins. */
async function open(
  { plan }: PlannedCommand,
  { arguments: given, use: { tasks }, begin }: Routed,
  { goesOn, redactor }: TerminalCallOptions,
): Promise<Attempt> {
  const { request: { background, cwd }, argv } = plan;
  const detached = background?.detached ?? false;
  const refused = (code: "no_host" | "arguments_secret" | "tool_failed", why: string): Attempt => ({
    kind: "not_started",
    failure: failure(code, `Cannot run this in the background: ${why}`),
  });
  if (tasks === undefined) {
    return refused("tool_failed", "this runtime has no tasks; run it in the foreground");
  }
  if (detached && !goesOn) {
    return refused(
      "no_host",
      "this runtime ends once its tasks have; leave detached out, and it is waited for",
    );
  }
  // What goes on beside the turn stands in the store: with its arguments as they are.
  const { findings, isWithheld } = redactor.json(given, "model");
  if (isWithheld || findings.length > 0) {
    return refused(
      "arguments_secret",
      "its arguments hold a secret; run it in the foreground, or take that out",
    );
  }
  const takeBack = begin();
  const opened = await tasks.open({
    principal: tasks.principal,
    title: head(visible(plan.request.shell ?? argv.join(" ")), limits.taskTitleCharactersMax),
    detached,
    silent: false,
    scope: `terminal:${cwd}`,
    work: { kind: "terminal.exec", arguments: given, cwd },
  });
  if ("code" in opened) {
    takeBack();
    return { kind: "not_started", failure: opened };
  }
  return { kind: "returned", envelope: textEnvelope(beganText(opened)) };
}

function beganText({ id }: TaskRecord): string {
  return `It goes on in the background as the task ${id}. Look at it with task_status, wait for its end with yield_until, ` +
    "end it with task_control. You are told when it has ended.";
}
