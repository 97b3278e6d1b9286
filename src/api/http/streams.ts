/** What is answered piece by piece by HTTP: events of a watch, lines of an export. */
import type { Clock } from "../../seams.ts";
import type { ActorApi, ApiRequest } from "../actor_api.ts";
import type { Caller } from "../caller.ts";
import type { Asked, HttpAppOptions } from "./asked.ts";
import { tokenInvalid } from "../token_file.ts";
import { only } from "./head_guard.ts";
import { watchStream } from "./watch_stream.ts";

/** The events of a watch, until its watcher or its token is gone. */
export async function watched(
  c: Asked,
  { api, seams: { clock } }: Pick<HttpAppOptions, "api" | "seams">,
  asked: ApiRequest,
): Promise<Response> {
  const { incoming: { rawHeaders }, trace, gone, kill, ending } = c.env;
  const leave = new AbortController();
  gone.addEventListener("abort", () => leave.abort(), { once: true });
  if (gone.aborted) leave.abort();
  const last = only(rawHeaders, "last-event-id");
  const params = last === undefined ? asked.params : { ...asked.params as object, after: Number(last) };
  const events = api.stream({ ...asked, params, signal: leave.signal })[Symbol.asyncIterator]();
  // What is refused is refused before anything is awaited from the outside, so one turn of the loop tells.
  const first = events.next();
  await Promise.race([first, new Promise<void>((resolve) => clock.defer(resolve))]);
  const { address } = asked.params as { readonly address?: string };
  const headSeq = address === undefined ? 0 : await api.headOf(address);
  const rest = resumed(first, events);
  const describe = (error: unknown) => api.describe(error, trace);
  const revoked = revokedSignal(asked.caller, clock, leave.signal);
  return new Response(watchStream({ events: rest, headSeq, clock, ending, revoked, leave, kill, describe }), {
    headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
  });
}

/** Aborts once the token of a caller does not hold any more. Nothing is waited for once `left` aborts. */
export function revokedSignal({ ended, untilMs }: Caller, clock: Clock, left: AbortSignal): AbortSignal {
  const revoked = new AbortController();
  ended?.addEventListener("abort", () => revoked.abort(), { once: true, signal: left });
  if (ended?.aborted) revoked.abort();
  if (untilMs !== undefined) clock.sleepUntil(untilMs, left).then(() => left.aborted || revoked.abort());
  return revoked.signal;
}

function resumed(
  first: Promise<IteratorResult<unknown>>,
  events: AsyncIterator<unknown>,
): AsyncIterable<unknown> {
  let isBegun = false;
  const next = () => {
    if (isBegun) return events.next();
    isBegun = true;
    return first;
  };
  const end = async () => await events.return?.() ?? { done: true as const, value: undefined };
  return { [Symbol.asyncIterator]: () => ({ next, return: end }) };
}

/** The lines of an export. */
export async function exported(api: ActorApi, asked: ApiRequest): Promise<Response> {
  const pieces = api.stream(asked)[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  const { ended } = asked.caller;
  let next = await pieces.next();
  const stream = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      if (ended?.aborted) throw tokenInvalid();
      if (next.done === true) return controller.close();
      controller.enqueue(encoder.encode((next.value as { readonly text: string }).text));
      next = await pieces.next();
    },
    cancel: async () => void await pieces.return?.(),
  }, { highWaterMark: 0 });
  return new Response(stream, { headers: { "content-type": "application/x-ndjson" } });
}
