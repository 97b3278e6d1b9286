/** Lets the program of a session prepare a model round: what the model is told, and of which tools (CM-38). */
import { PreparedRound } from "../../schemas/api_program.ts";
import { type Failure, failure } from "../../schemas/failure.ts";
import type { Json } from "../../schemas/json.ts";
import type { ModelMessage } from "../../schemas/model.ts";
import { programLimits } from "../../schemas/program_limits.ts";
import type { ToolSpec } from "../../schemas/tool.ts";
import type { ConnectedProgram } from "../programs/program_registry.ts";
import type { Redactor } from "../redact/redactor.ts";
import type { Seams } from "../seams.ts";
import type { Performance } from "./performer.ts";

/** What rounds are prepared with. */
export interface RoundPrepareOptions {
  readonly programOf: (program: string) => ConnectedProgram | undefined;
  readonly redactor: Redactor;
  readonly seams: Pick<Seams, "clock">;
}

/** A round as the runtime would put it to the model. */
export interface Round {
  readonly program: string;
  readonly call: Performance<"model.generate">;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolSpec[];
  readonly signal: AbortSignal;
}

/** Prepares one round, or says why it cannot be. */
export type RoundPrepare = (
  round: Round,
) => Promise<Pick<Round, "messages" | "tools"> | { readonly failure: Failure }>;

/**
 * Makes the preparing of rounds. A round that a program is to prepare is never put to a model unprepared: without the
 * program, or without its answer in 30 s, it fails, and is tried again like any other model call. What was prepared stands
 * in the journal, as a note beside the intent that it was for.
 */
export function createRoundPrepare({ programOf, redactor, seams }: RoundPrepareOptions): RoundPrepare {
  return async ({ program, call, messages, tools, signal }) => {
    const mailbox = programOf(program)?.mailbox;
    if (mailbox === undefined) {
      const message =
        `Program "${program}" prepares the rounds of this turn and is not connected: start it, and ask again`;
      return { failure: failure("program_unavailable", message) };
    }
    const { turn, step } = call.request.args;
    const tool_surface = tools.map(({ name }) => name);
    const deadlineAtMs = seams.clock.now() + programLimits.prepareMs;
    const time = timeOf(seams.clock, deadlineAtMs, signal);
    const round = { session: call.root, turn, step, messages: [...messages], tool_surface };
    const answer = await mailbox.exchange({
      event: { type: "prepare", call_id: call.key, deadline_at: deadlineAtMs, round },
      isHarmless: true,
      root: call.root,
      attempt: call.id,
      deadlineAtMs,
      signal: time.signal,
      begin: () => {},
      notice: () => {},
    });
    time.end();
    if (answer.kind !== "answered") return { failure: answer.failure };
    return checked({ program, call, tools }, answer.result, redactor);
  };
}

function checked(
  { program, call, tools }: Pick<Round, "program" | "call" | "tools">,
  answer: unknown,
  redactor: Redactor,
): Awaited<ReturnType<RoundPrepare>> {
  const invalid = (why: string) => ({
    failure: failure("invalid_prepare_round_response", `What the program "${program}" prepared ${why}`),
  });
  const parsed = PreparedRound.safeParse(answer);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return invalid(
      `is no round: ${issue?.path.map(String).join(".") ?? ""}: ${issue?.message ?? "not accepted"}`,
    );
  }
  const chosen = new Set(parsed.data.tool_surface);
  const surface = tools.filter(({ name }) => chosen.has(name));
  if (surface.length < chosen.size) return invalid("has a tool that the round does not offer");
  const { value, isWithheld } = redactor.json(parsed.data.messages as unknown as Json, "model");
  const clean = PreparedRound.shape.messages.safeParse(value);
  if (isWithheld || !clean.success) return invalid("could not be made safe to show");
  const { turn, step } = call.request.args;
  const body = {
    intent: call.id,
    turn,
    step,
    program,
    messages: value,
    tool_surface: surface.map(({ name }) => name),
  } as Json;
  call.note?.("round.prepared", body);
  return { messages: clean.data, tools: surface };
}

/** A signal that aborts with another one, or when the time is over. */
function timeOf(
  clock: Seams["clock"],
  untilMs: number,
  outer: AbortSignal,
): { readonly signal: AbortSignal; readonly end: () => void } {
  const over = new AbortController();
  const enough = new AbortController();
  const stop = () => over.abort();
  outer.addEventListener("abort", stop, { once: true, signal: enough.signal });
  if (outer.aborted) stop();
  void clock.sleepUntil(untilMs, enough.signal).then(() => enough.signal.aborted || over.abort());
  return { signal: over.signal, end: () => enough.abort() };
}
