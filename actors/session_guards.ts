/** The questions that the session machine asks before it goes on. */
import { limits } from "../schemas/limits.ts";
import * as refresh from "./refresh.ts";
import * as cancel from "./session_cancel.ts";
import * as budget from "./session_budget.ts";
import * as close from "./session_close.ts";
import * as rules from "./session_rules.ts";
import type { SessionContext, SessionEvent } from "./session_context.ts";

interface Asked {
  readonly context: SessionContext;
  readonly event: SessionEvent;
}

/** The guards of the session machine, by name. */
export const sessionGuards = {
  isSpent: ({ context }: Asked) => budget.promptRefusal(context) !== undefined,
  hasPrompt: ({ context }: Asked) => context.queue.length > 0,
  isRefused: ({ context, event }: Asked) =>
    context.isClosed === true || close.refusalOf(context, event) !== undefined,
  isClosing: ({ context }: Asked) => context.closing !== undefined,
  isFromAbove: ({ context, event }: Asked) => close.isFromAbove(context, event),
  isForcedFromAbove: ({ context, event }: Asked) =>
    close.isFromAbove(context, event) && close.isForced(event),
  isCommanded: ({ context, event }: Asked) => close.isCommanded(context, event),
  hasWaiting: ({ context }: Asked) => close.hasWaiting(context),
  isOwnOver: ({ context }: Asked) => (context.tasks ?? []).length === 0,
  isQueueFull: ({ context }: Asked) => context.queue.length >= limits.promptsQueuedMax,
  isOfCall: ({ event }: Asked) => cancel.isOfCall(event),
  isBornInStop: ({ context, event }: Asked) => cancel.isBornInStop(context, event),
  isTurnDone: ({ event }: Asked) => rules.isTurnDone(event),
  hasNextServers: ({ context }: Asked) => context.nextServers !== null,
  mustRenew: ({ context, event }: Asked) => refresh.mustRenew(context, rules.timeOf(event)),
  isRenewedForNobody: ({ context, event }: Asked) =>
    context.closing !== undefined && rules.isRenewed(context, event),
  isRenewed: ({ context, event }: Asked) => rules.isRenewed(context, event),
  isOfCatalog: ({ context, event }: Asked) => rules.isOfCatalog(context, event),
  hasNoCatalog: ({ context }: Asked) => rules.hasNoCatalog(context),
};
