/** Calls that a program opens in the turn that runs, beside those of its step (CM-61): the turn waits for them, the model is not told. */
import { type Failure, failure } from "../schemas/failure.ts";
import type { InvocationRequest, InvocationResult } from "../schemas/invocation.ts";
import { canonicalJson } from "../schemas/json.ts";
import { limits } from "../schemas/limits.ts";
import type { CommandRef, Outgoing } from "../schemas/message.ts";
import type { ModelCall } from "../schemas/model.ts";
import { entryNamed, entryOf, refOf } from "./library.ts";
import { afford, isSpent } from "./turn_budget.ts";
import type { TurnContext, TurnEvent } from "./turn_context.ts";
import { boundWith, ordinalOf } from "./turn_rules.ts";

/** What a turn does about a call that is to be opened: begins it, or only answers. */
export interface InvokeStep {
  readonly changes: Partial<Pick<TurnContext, "opened" | "live" | "bound" | "ledger">>;
  readonly request?: InvocationRequest;
  readonly posts: readonly Outgoing[];
}

/** Opens the call, if the turn is at work on calls, nobody stops it, and the tool is the program's own. */
export function invoke(context: TurnContext, event: TurnEvent): InvokeStep {
  if (event.type !== "turn.invoke") throw new Error(`Cannot open a call by "${event.type}"`);
  const { command, program, call: { tool, arguments: input, hadSecret } } = event;
  const { catalog: { hash }, calls, opened = [], step, turn } = context;
  const why = refusal(context);
  if (why !== undefined) return refuse(command, why);
  const entry = entryOf({ catalog: hash, name: tool }) ?? entryNamed(hash, tool);
  const { source, origin } = entry?.provenance ?? {};
  if (entry?.enabled !== true || source !== "program" || origin !== program) {
    const message = `The turn has no tool "${
      tool.slice(0, 100)
    }" of the program "${program}": use one that it brought`;
    return refuse(command, failure("tool_not_bound", message));
  }
  const ordinal = ordinalOf(step, calls.length + opened.length);
  const earlier = context.bound?.[entry.canonicalName] ?? 0;
  const request: InvocationRequest = {
    ordinal,
    callId: "",
    name: tool,
    entry: refOf(hash, entry),
    // Nobody keeps what held a secret: without it the call would say another thing, so it is refused.
    ...(hadSecret === undefined ? { arguments: input } : { argumentsText: canonicalJson(input), hadSecret }),
    origin: "authored",
    scope: { turn: { number: turn, catalog: hash } },
    bindingAttempt: earlier + 1,
  };
  const { ledger, requests, refused, notes } = afford(context, [request]);
  const [denied] = refused;
  if (requests.length === 0) {
    const spent = denied?.failure ?? failure("budget_exhausted", "The budget allows no further call");
    return { ...refuse(command, spent), posts: [...notes, ...refuse(command, spent).posts] };
  }
  const made: ModelCall = { callId: "", name: tool, arguments: input };
  const name = `turn/${turn}/${ordinal}`;
  return {
    changes: {
      opened: [...opened, made],
      live: [...context.live, ordinal],
      bound: boundWith(context.bound, requests),
      ledger,
    },
    request,
    posts: [
      { kind: "note", type: "turn.invoked", body: { ordinal, tool: entry.canonicalName, program } },
      ...answered(command, "ok", { call: name }),
    ],
  };
}

/** The record of an opened call that never reached its tool: no model is told, so nothing else says it. */
export function refusedNote(
  { calls, opened = [], step }: TurnContext,
  { ordinal, outcome, outcomeOf, failure: why }: InvocationResult,
): readonly Outgoing[] {
  const isOpened = opened.some((_call, index) => ordinalOf(step, calls.length + index) === ordinal);
  if (!isOpened || outcomeOf !== undefined) return [];
  const body = { ordinal, outcome, code: why?.code ?? "tool_failed", message: why?.message ?? "" };
  return [{ kind: "note", type: "invocation.refused", body }];
}

/** Answers a call that cannot be opened because the turn is not at work on calls. */
export function refuseInvoke(event: TurnEvent): readonly Outgoing[] {
  return event.type === "turn.invoke" ? refuse(event.command, notRunning).posts : [];
}

/** Why nothing is opened: no call of a turn runs. */
export const notRunning: Failure = failure(
  "turn_not_running",
  "No call can be opened now: it takes a turn that is at work on calls and is not being stopped",
);

function refusal(context: TurnContext): Failure | undefined {
  const { cancelAsked, live, calls, opened = [] } = context;
  if (cancelAsked || live.length === 0 || isSpent(context)) return notRunning;
  if (calls.length + opened.length < limits.modelCallsPerAnswerMax) return undefined;
  return failure(
    "turn_not_running",
    `${limits.modelCallsPerAnswerMax} calls are in this step: wait for its end`,
  );
}

function refuse(command: CommandRef | null, why: Failure): InvokeStep {
  return { changes: {}, posts: answered(command, "failed", { failure: { ...why } }) };
}

function answered(
  command: CommandRef | null,
  status: "ok" | "failed",
  value: Extract<Outgoing, { kind: "reply" }>["value"],
): readonly Outgoing[] {
  return command === null ? [] : [{ kind: "reply", command, status, value }];
}
