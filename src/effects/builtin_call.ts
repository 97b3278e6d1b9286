/** Calls of the tools that come with the runtime: by their handlers, once a person gave what they want first (DM-16). */
import { failure } from "../../schemas/failure.ts";
import type { BuiltinTool } from "../tools/tool.ts";
import type { Adapter } from "./adapter.ts";

/** Makes the adapter of built-in tools. `commands` carries out those whose calls run a command. */
export function createBuiltinCall(tools: ReadonlyMap<string, BuiltinTool>, commands: Adapter): Adapter {
  return async (routed) => {
    const { entry, arguments: input, use, begin, round } = routed;
    if (entry.definition.review === "command") return await commands(routed);
    const tool = tools.get(entry.definition.name);
    if (tool === undefined) {
      const message =
        `There is no built-in tool "${entry.definition.name}": the catalog is from another release`;
      return { kind: "not_started", failure: failure("tool_failed", message) };
    }
    const wanted = round === undefined ? tool.asks?.(input) : undefined;
    if (wanted !== undefined) {
      return { kind: "paused", pause: { type: "input_required", how: "retry", requests: [...wanted] } };
    }
    if (round?.isLast === true) {
      const message = "The call was canceled while a person was asked";
      return { kind: "not_started", failure: failure("tool_canceled", message) };
    }
    begin();
    return { kind: "returned", envelope: await tool.handler(input, use) };
  };
}
