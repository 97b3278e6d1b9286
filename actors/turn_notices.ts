/** What a turn tells its model besides results: news that came while it ran. */
import type { TaskNews } from "../schemas/ids.ts";
import { isAbout } from "./session_tasks.ts";
import type { TurnContext, TurnEvent } from "./turn_context.ts";

/** What the model is told before it is asked again, with one more; not what a result of this turn told it already. */
export function noticed(context: TurnContext, event: TurnEvent): Pick<TurnContext, "notices"> {
  const { notices = [], told = [] } = context;
  if (event.type !== "turn.notice" || isAbout(event.item, told)) return { notices };
  return { notices: [...notices, event.item] };
}

/** A result told the model how tasks ended: no notice of them follows (DM-121). */
export function toldWith(
  { notices = [], told = [] }: TurnContext,
  now: readonly TaskNews[] = [],
): Pick<TurnContext, "notices" | "told"> {
  if (now.length === 0) return {};
  return { notices: notices.filter((item) => !isAbout(item, now)), told: [...new Set([...told, ...now])] };
}
