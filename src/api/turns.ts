/** `send`, `ask`, `resume`, `cancel` and `stop`: what is told to an agent that is there. */
import type { ApiGiven, ApiResult } from "../../schemas/api.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { Failure } from "../../schemas/failure.ts";
import { cancelSession } from "../host/canceling.ts";
import { KernelError } from "../kernel/kernel.ts";
import { reportWhenOver } from "../lost_turn.ts";
import { peek } from "../peek.ts";
import type { TurnReport } from "../turn_report.ts";
import type { ApiCallContext } from "./api_parts.ts";
import { sessionFor } from "./visible.ts";

/** Gives a prompt; resolves once it is durable. */
export async function send(
  context: ApiCallContext,
  { address, text, images }: ApiGiven<"send">,
): Promise<ApiResult<"send">> {
  const { accepted } = await give(context, address, { text, images });
  await accepted();
  return { address, state: "accepted" };
}

/** Gives a prompt and waits for the end of its turn; the same key again waits for the same turn. */
export async function ask(
  context: ApiCallContext,
  { address, text, images, wait_ms: waitMs }: ApiGiven<"ask">,
): Promise<ApiResult<"ask">> {
  const { accepted, report } = await give(context, address, { text, images });
  await accepted();
  const ended = await within(context, report, waitMs);
  return ended === undefined ? { state: "running", address } : endedTurn(address, ended);
}

/** Lets a turn go on that waits since its model failed, and waits for its end. */
export async function resume(
  context: ApiCallContext,
  { address, wait_ms: waitMs }: ApiGiven<"resume">,
): Promise<ApiResult<"resume">> {
  sessionFor(context, address);
  const { parts: { runtime }, key, trace, caller } = context;
  const sent = await runtime.send(address, { type: "session.resume" }, { key, by: caller.principal, trace });
  const report = reportWhenOver(runtime, address, sent);
  report.catch(() => {}); // Whoever still waits hears of it below.
  await sent.accepted();
  // A refusal is as old as the command: who waits for no time at all is refused too.
  const isAnswered = await runtime.journal.readReply(sent.ref.principal, sent.ref.key) !== undefined;
  const ended = isAnswered ? await report : await within(context, report, waitMs);
  // Only a refusal is about no turn.
  if (ended?.turn === 0 && ended.failure !== undefined) {
    throw new KernelError(ended.failure.code, ended.failure.message);
  }
  return ended === undefined ? { state: "running", address } : endedTurn(address, ended);
}

/** Stops a session or a part of it; resolves once that has ended. */
export async function cancel(
  context: ApiCallContext,
  { address, reason = "Canceled by the API", ...order }: ApiGiven<"cancel">,
): Promise<ApiResult<"cancel">> {
  sessionFor(context, address);
  const { parts: { runtime }, key, trace, caller } = context;
  return await cancelSession(runtime, address, { reason, ...order }, { key, by: caller.principal, trace });
}

/** Ends a session for good; resolves once nothing of it runs. */
export async function stop(
  context: ApiCallContext,
  { address, strictness = "forced", reason = "Stopped by the API" }: ApiGiven<"stop">,
): Promise<ApiResult<"stop">> {
  sessionFor(context, address);
  const { parts: { runtime }, key, trace, caller } = context;
  const message = { type: "session.close" as const, strictness, reason };
  const { accepted, reply } = await runtime.send(address, message, { key, by: caller.principal, trace });
  await accepted();
  const { status, value } = await reply;
  const refused = status === "failed" ? Failure.safeParse(peek(value, "failure")) : undefined;
  if (refused?.success) throw new KernelError(refused.data.code, refused.data.message);
  return { address, state: "closed" };
}

async function give(
  context: ApiCallContext,
  address: RootAddress,
  { text, images }: { readonly text: string; readonly images: ApiGiven<"send">["images"] | undefined },
): ReturnType<ApiCallContext["parts"]["runtime"]["prompt"]> {
  sessionFor(context, address);
  const { parts: { runtime }, key, trace, caller } = context;
  return await runtime.prompt(address, text, { key, by: caller.principal, trace, images });
}

/** What comes within the time; undefined if it does not, or if nobody waits any more. */
async function within<T>(
  { parts: { seams: { clock } }, signal }: ApiCallContext,
  coming: Promise<T>,
  waitMs: number | undefined,
): Promise<T | undefined> {
  const enough = new AbortController();
  const gone = Promise.withResolvers<undefined>();
  const leave = () => gone.resolve(undefined);
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  const late = waitMs === undefined
    ? gone.promise
    : clock.sleepUntil(clock.now() + waitMs, enough.signal).then(() => undefined);
  try {
    return await Promise.race([coming, late, gone.promise]);
  } finally {
    signal.removeEventListener("abort", leave);
    enough.abort();
  }
}

/** A turn's end as it is published. */
function endedTurn(
  address: RootAddress,
  { turn, outcome, steps, text, failure, output }: TurnReport,
): ApiResult<"ask"> {
  return {
    state: "ended",
    address,
    turn,
    outcome,
    steps,
    text,
    ...(failure === undefined ? {} : { failure }),
    ...(output === undefined ? {} : { output }),
  };
}
