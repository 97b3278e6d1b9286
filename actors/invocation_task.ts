/**
 * A call that its server carries out as a task. Looking after a task harms nobody, so the port is idempotent whatever
 * the tool is; but that a look failed never says that the tool did nothing.
 */
import { CallTask } from "../schemas/call_pause.ts";
import type { PortDone, PortRequestOf } from "../schemas/effect.ts";
import type { InvocationContext } from "./invocation_context.ts";
import { effectOf, mcpCall, momentOf } from "./invocation_rules.ts";

/** The task that a call became; undefined if what was yielded is a result, or another pause. */
export function taskIn({ value }: PortDone): CallTask | undefined {
  const { pause } = Object(value) as { readonly pause?: unknown };
  return pause === undefined ? undefined : CallTask.safeParse(pause).data;
}

/** What is remembered of a call that became a task: its handle stands in the journal before anybody looks. */
export function becameTask(context: InvocationContext, done: PortDone): Partial<InvocationContext> {
  const task = taskIn(done);
  if (task === undefined) return {};
  return { ...momentOf(done), task, firstIntent: context.firstIntent ?? done.intent };
}

/** Looks after the task until it ends, within the deadline of its call. */
export function followTask(context: InvocationContext): PortRequestOf<"mcp.task"> {
  const { task } = context;
  if (task === undefined) throw new Error(`Cannot look after "${context.request.name}": it is no task`);
  const { args, deadlineAtMs } = mcpCall(context);
  return { port: "mcp.task", effect: "idempotent", args: { ...args, task }, deadlineAtMs };
}

/** True if the tool may have been applied and a repeat could hurt: of a task that brought no result, always. */
export function isDoubtfulTask(context: InvocationContext): boolean {
  return effectOf(context) !== "idempotent";
}
