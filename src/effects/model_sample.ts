/** `model.sample`: the session's model answers texts of a server, without a tool and without the conversation. */
import type { AgentDefinition } from "../../schemas/agent.ts";
import type { Sample } from "../../schemas/call_pause.ts";
import { failure } from "../../schemas/failure.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import type { ModelMessage, ModelRequest } from "../../schemas/model.ts";
import { AnswerCollector, type Collected } from "../model/collect.ts";
import { type ModelProvider, splitModel } from "../model/provider.ts";
import { admitted } from "./admitted.ts";
import { cleanFailure } from "./clean.ts";
import { runUntil } from "./deadline.ts";
import { type ModelGenerateOptions, resultOf, type Waited } from "./model_generate.ts";
import { ModelPatience } from "./model_patience.ts";
import type { Performance, Performer, PerformerResult } from "./performer.ts";

/** Options of {@linkcode createModelSample}. */
export interface ModelSampleOptions
  extends Pick<ModelGenerateOptions, "providerOf" | "redactor" | "seams" | "admission"> {
  /** The agent of a session: its model, and how much that may say at once. */
  readonly agentOf: (root: RootAddress) => Promise<AgentDefinition | undefined>;
}

/** Makes the performer. A model call changes nothing outside, so whatever goes wrong is `failed` (AR-26). */
export function createModelSample(options: ModelSampleOptions): Performer<"model.sample"> {
  return async (call) => {
    const { clock } = options.seams;
    const deadlineAtMs = call.request.deadlineAtMs ?? clock.now() + limits.modelCallDurationMs;
    const patience = new ModelPatience(clock, deadlineAtMs);
    const ended = await runUntil(
      { clock, deadlineAtMs, extendedTo: () => patience.untilMs, signal: call.signal },
      (signal) => sample(call, options, { signal, patience }),
    );
    const result = resultOf(ended, options.seams);
    return result.status === "ok"
      ? result
      : { ...result, failure: cleanFailure(options.redactor, result.failure) };
  };
}

async function sample(
  { root, id, request: { args }, note = () => {}, report }: Performance<"model.sample">,
  { agentOf, providerOf, redactor, admission }: ModelSampleOptions,
  { signal, patience }: Waited,
): Promise<PerformerResult> {
  const agent = await agentOf(root);
  if (agent === undefined) return failed("model_unknown", "The session does not say which model it has");
  const [name] = splitModel(agent.model);
  const provider = await providerOf(name, root, agent.model);
  if (provider === undefined) {
    return failed(
      "model_unknown",
      `No provider serves the model "${agent.model}": correct the agent's model`,
    );
  }
  patience.known(provider);
  const { model } = agent;
  const ask = (): ReturnType<typeof sampleBy> =>
    sampleBy(provider, { args, agent, redactor }, { signal, patience });
  if (admission === undefined) return await ask();
  return await admitted({ admission, root, id, model, providerOf }, { signal, note, report }, ask);
}

interface Sampling extends Pick<ModelSampleOptions, "redactor"> {
  readonly args: Args;
  readonly agent: AgentDefinition;
}

/** One request, and what comes of it. */
async function sampleBy(
  provider: ModelProvider,
  { args, agent, redactor }: Sampling,
  { signal, patience }: Waited,
): Promise<PerformerResult> {
  const [, model] = splitModel(agent.model);
  const collected = await collect(
    provider.generate({
      model,
      messages: messagesOf(args),
      tools: [],
      toolChoice: "auto",
      maxOutputTokens: Math.min(args.maxOutputTokens, agent.limits.max_output_tokens),
    }, signal),
    { signal, patience },
  );
  if (!collected.ok) return { status: "failed", failure: collected.failure };
  const { text, calls, finishReason, usage } = collected.answer;
  if (calls.length > 0) {
    return failed("model_answer_invalid", "The model called a tool, and none was offered to it");
  }
  if (text.length > limits.sampleCharactersMax) {
    return failed("too_large", `The model's answer has more than ${limits.sampleCharactersMax} characters`);
  }
  const clean = redactor.text(text, "model");
  if (clean.isWithheld) {
    return failed("redaction_failed", "The model's answer could not be made safe to send and was withheld");
  }
  const stopReason = finishReason === "length" ? "maxTokens" : "endTurn";
  const value: Sample = { text: clean.value, model: agent.model.slice(0, 200), stopReason, usage };
  return { status: "ok", value: { ...value } };
}

type Args = Performance<"model.sample">["request"]["args"];

function messagesOf({ system, messages }: Args): ModelRequest["messages"] {
  const own: readonly ModelMessage[] = messages.map(({ role, text }) =>
    role === "user" ? { role, text } : { role, text, calls: [] }
  );
  return system === undefined ? own : [{ role: "system", text: system }, ...own];
}

async function collect(
  events: ReturnType<NonNullable<Awaited<ReturnType<ModelGenerateOptions["providerOf"]>>>["generate"]>,
  { signal, patience }: Waited,
): Promise<Collected> {
  const collector = new AnswerCollector();
  for await (const event of events) {
    if (signal.aborted) break; // Leaving the loop closes the stream.
    patience.heard();
    const problem = collector.take(event);
    if (problem !== undefined) return { ok: false, failure: problem };
    if (collector.isDone()) break;
  }
  return collector.finish();
}

function failed(code: Parameters<typeof failure>[0], message: string): PerformerResult {
  return { status: "failed", failure: failure(code, message) };
}
