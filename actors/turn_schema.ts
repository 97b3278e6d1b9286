/** What a turn does about a tool whose schema its model does not take: told in basic words, and if that is refused too, hidden. */
import type { PortArgs } from "../schemas/effect.ts";
import type { Failure } from "../schemas/failure.ts";
import { remedyOf } from "../schemas/failure_kind.ts";
import { limits } from "../schemas/limits.ts";
import type { Outgoing } from "../schemas/message.ts";
import type { ModelToolHidden } from "../schemas/retry.ts";
import { entryNamed } from "./library.ts";
import type { TurnContext } from "./turn_context.ts";
import { modelOf } from "./turn_model.ts";

/** True if the model may be asked again with less about a tool: it names one that it was told of. */
export function mayEase(
  { recovery, hidden = [], simplified = [], catalog }: TurnContext,
  why: Failure,
): boolean {
  const { tool } = why;
  if (recovery === undefined || tool === undefined || remedyOf(why).degrade !== "hide_tool") return false;
  if (hidden.includes(tool)) return false;
  const list = simplified.includes(tool) ? hidden : simplified;
  return list.length < limits.toolsHiddenMax && entryNamed(catalog.hash, tool) !== undefined;
}

/** The record of it, with the reason. */
export function easedNote(context: TurnContext, { code, tool = "" }: Failure): Outgoing {
  const { turn, step, simplified = [] } = context;
  const body: ModelToolHidden = { turn, step, model: modelOf(context), tool, lastErrorCode: code };
  const type = simplified.includes(tool) ? "model.tool_hidden" : "model.tool_simplified";
  return { kind: "note", type, body };
}

/** The same step again, with less about that tool. */
export function eased(
  { attempt, hidden = [], simplified = [] }: TurnContext,
  { tool = "" }: Failure,
): Partial<TurnContext> {
  const less = simplified.includes(tool)
    ? { hidden: [...hidden, tool] }
    : { simplified: [...simplified, tool] };
  return { attempt: attempt + 1, ...less, failure: null };
}

/** What a request says of it: nothing, as long as the model takes all schemas. */
export function toldLess(
  { hidden = [], simplified = [] }: TurnContext,
): Pick<PortArgs<"model.generate">, "hidden" | "simplified"> {
  return {
    ...(hidden.length === 0 ? {} : { hidden: [...hidden] }),
    ...(simplified.length === 0 ? {} : { simplified: [...simplified] }),
  };
}
