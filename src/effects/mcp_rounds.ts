/** The rounds of a call of an MCP server: what a pause becomes, and with what the next round is sent (CM-34). */
import type { CallRound, RequestAnswer, ServerRequest } from "../../schemas/call_pause.ts";
import { type Failure, failure, retryableFailure } from "../../schemas/failure.ts";
import { serverOf } from "../../schemas/ids.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import type { ToolResultEnvelope } from "../../schemas/tool.ts";
import type { RawInput } from "../mcp/input_required.ts";
import type { HeldCall, SuspendedCalls } from "../mcp/suspended_calls.ts";
import { errorEnvelope } from "../tools/tool.ts";
import type { Attempt, Routed } from "./adapter.ts";

/** What rounds need besides the call. */
export interface RoundOptions {
  readonly suspended: SuspendedCalls<Attempt>;
  /** True for a text that holds a secret of the host, by its value. */
  readonly holdsSecret: (text: string) => boolean;
}

/** Follows a call to its end, or to where its server wants something first. */
export async function follow(
  held: HeldCall<Attempt>,
  { root, intent, entry, use }: Routed,
  { suspended }: RoundOptions,
): Promise<Attempt> {
  const turn = await held.next({ signal: use.signal, push: use.notifications.push });
  if ("end" in turn) return turn.end;
  suspended.keep(root, intent, held);
  return pausedFor(turn.requests, { server: serverOf(entry.binding), how: "held" });
}

/** The next round of a call that is held open. If it went with an earlier runtime, nobody knows what became of it. */
export async function resume(round: CallRound, routed: Routed, options: RoundOptions): Promise<Attempt> {
  const held = options.suspended.take(routed.root, routed.intent);
  routed.begin();
  if (held === undefined) return { kind: "lost", failure: gone() };
  held.answer(round.answers);
  if (round.isLast === true) held.answerAll("cancel");
  else if (round.round >= limits.mcpRoundsMax) held.answerAll("decline");
  return withTold(await follow(held, routed, options), round);
}

function gone(): Failure {
  const message =
    "The call was held open while a person was asked, and ended with its runtime or its server before " +
    "the answer could be given";
  return retryableFailure("mcp_connection_lost", message);
}

/** What the call is sent with besides its arguments; or how the round ends before anything is sent. */
export async function sentWith(
  { round, root, intent, use }: Routed,
  { suspended }: RoundOptions,
): Promise<{ readonly more: JsonObject } | { readonly attempt: Attempt }> {
  if (round === undefined) return { more: {} };
  if (round.how === "repeat") {
    const isOpened = round.answers.every(({ action }) => action === "accept");
    if (isOpened && round.isLast === undefined) return { more: {} };
    const why = "The server makes this call only after a person has opened a page, and nobody did";
    const attempt: Attempt = round.isLast === undefined
      ? { kind: "returned", envelope: errorEnvelope(failure("mcp_input_refused", why)) }
      : { kind: "not_started", failure: failure("tool_canceled", why) };
    return { attempt: withTold(attempt, round) };
  }
  const state = round.state === "memory"
    ? suspended.stateOf(root, intent)
    : round.state === undefined
    ? ""
    : await textOf(use.blobs.get(round.state));
  if (state === undefined) {
    const message =
      "What the server wants back held a secret, which was in memory only, and the runtime was started anew";
    return { attempt: { kind: "not_started", failure: failure("mcp_input_invalid", message) } };
  }
  return {
    more: {
      ...(round.answers.length === 0 ? {} : { inputResponses: responsesOf(round.answers) }),
      ...(round.state === undefined ? {} : { requestState: state }),
    },
  };
}

async function textOf(reading: Promise<Uint8Array | undefined>): Promise<string | undefined> {
  const bytes = await reading;
  return bytes === undefined ? undefined : new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

function responsesOf(answers: readonly RequestAnswer[]): JsonObject {
  return Object.fromEntries(
    answers.map((
      { key, action, content },
    ) => [key, { action, ...(content === undefined ? {} : { content }) }]),
  );
}

/** A server that wants something in place of a result: it has not carried the call out. */
export async function pausedBy(raw: RawInput, routed: Routed, options: RoundOptions): Promise<Attempt> {
  const { round, root, intent, use, entry } = routed;
  if (raw.type === "unusable") return { kind: "returned", envelope: errorEnvelope(raw.failure) };
  const over = tooMany(round);
  if (over !== undefined) return over;
  const { requests, state } = raw;
  const pause = { server: serverOf(entry.binding), how: "retry" as const };
  if (state === undefined) return pausedFor(requests, pause);
  if (options.holdsSecret(state)) {
    options.suspended.keepState(root, intent, state);
    return pausedFor(requests, { ...pause, state: "memory" });
  }
  const { digest } = await use.blobs.put(new TextEncoder().encode(state), "text/plain", "request-state");
  return pausedFor(requests, { ...pause, state: digest });
}

/** A server that wants pages to be opened before it is called again. */
export function pausedByPages(pages: readonly ServerRequest[], { round, entry }: Routed): Attempt {
  return tooMany(round) ?? pausedFor(pages, { server: serverOf(entry.binding), how: "repeat" });
}

/** Nobody is asked any more: the call was given up, or its server asked too often. */
function tooMany(round: CallRound | undefined): Attempt | undefined {
  if (round?.isLast === true) {
    const why =
      "The call was canceled while its server waited for an answer; the server had not carried it out";
    return { kind: "not_started", failure: failure("tool_canceled", why) };
  }
  if (round === undefined || round.round < limits.mcpRoundsMax) return undefined;
  const why =
    `The server wanted something first ${limits.mcpRoundsMax} times, and wants more: the call is given up`;
  return { kind: "returned", envelope: errorEnvelope(failure("mcp_rounds_exceeded", why)) };
}

function pausedFor(
  requests: readonly ServerRequest[],
  pause: { readonly server: string; readonly how: CallRound["how"]; readonly state?: string },
): Attempt {
  return { kind: "paused", pause: { type: "input_required", ...pause, requests: [...requests] } };
}

/** The attempt, with what the model is told of requests that no person answered. */
export function withTold(attempt: Attempt, round: CallRound | undefined): Attempt {
  const told = round?.told ?? [];
  if (attempt.kind !== "returned" || told.length === 0) return attempt;
  const envelope = attempt.envelope as ToolResultEnvelope;
  const text = told.map((line) => `[${line}]`).join("\n");
  return { ...attempt, envelope: { ...envelope, content: [...envelope.content, { type: "text", text }] } };
}
