/** One adapter for every vendor: the AI SDK's language model as a provider of ours (AR-16..21). */
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4StreamPart,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import type { JsonObject } from "../../../schemas/json.ts";
import type { ModelCapabilities, ModelEvent, ModelRequest } from "../../../schemas/model.ts";
import type { ModelPrices } from "../../../schemas/provider.ts";
import type { GuardedClient } from "../../net/guarded_client.ts";
import type { Clock } from "../../seams.ts";
import { ModelError, type ModelProvider } from "../provider.ts";
import { AnswerStream } from "./answer_stream.ts";
import { markedPrompt, markedTools } from "./cache_marks.ts";
import { createSend, type Heard, type Send } from "./guarded_send.ts";
import type { VendorIdentity } from "./kept_parts.ts";
import { promptOf } from "./prompt.ts";
import { ToolNames } from "./tool_names.ts";
import { toldSchema } from "./tool_schema.ts";
import { type ErrorScene, modelErrorOf } from "./vendor_error.ts";

/** What a vendor's model is made a provider with. */
export interface VendorOptions {
  /** Name of the provider in the configuration. */
  readonly provider: string;
  readonly identity: VendorIdentity;
  readonly capabilities: ModelCapabilities;
  /** Makes the model that sends by `send`. It costs nothing: one is made for each request. */
  readonly createModel: (send: Send) => LanguageModelV4;
  readonly client: Pick<GuardedClient, "fetch">;
  readonly clock: Pick<Clock, "now">;
  /** Values that no error tells. */
  readonly secrets: readonly string[];
  readonly prices?: ModelPrices | undefined;
  /** What the vendor's protocol takes besides. */
  readonly providerOptions?: SharedV4ProviderOptions | undefined;
  /** Requests at once. */
  readonly concurrency?: number | undefined;
  /** How long it may say nothing, in milliseconds. */
  readonly timeoutMs?: number | undefined;
  /** Most that one answer may have, whatever is asked for. */
  readonly outputTokensMax?: number | undefined;
}

/** Makes the provider. It keeps no state: what a vendor wants back stands in the conversation. */
export function createVendorProvider(options: VendorOptions): ModelProvider {
  return {
    name: options.provider,
    capabilities: options.capabilities,
    ...(options.concurrency === undefined ? {} : { concurrency: options.concurrency }),
    ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
    generate: (request, signal) => generate(options, request, signal),
  };
}

async function* generate(
  options: VendorOptions,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncIterable<ModelEvent> {
  const { provider, identity, clock, secrets, prices } = options;
  const heard: Heard = { isWhole: false };
  const names = namesOf(request);
  const answer = new AnswerStream({ identity, provider, names, prices });
  const told = request.tools.map(({ name }) => ({ name, vendors: names.toVendor(name) }));
  const scene = (): ErrorScene => ({
    provider,
    model: identity.model,
    secrets,
    nowMs: clock.now(),
    tools: told,
  });
  let reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart> | undefined;
  try {
    const hasEndMark = identity.kind === "openai_compatible";
    const model = options.createModel(createSend(options, hasEndMark ? heard : undefined));
    const { stream } = await model.doStream(callOf(options, request, { names, signal }));
    reader = stream.getReader();
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const part = next.value;
      if (part.type === "error") {
        // Some servers end by `[DONE]` and never say why they stopped.
        if (heard.isWhole && isReasonMissing(part.error)) continue;
        throw part.error;
      }
      if (part.type === "finish") {
        checkFinish(part, { hasSaid: answer.hasSaid, isWhole: heard.isWhole }, scene());
      }
      yield* answer.take(part);
      if (answer.isTooLarge) {
        throw new ModelError(
          "model_answer_invalid",
          `The model "${identity.model}" thinks more than is kept`,
        );
      }
    }
  } catch (error) {
    signal.throwIfAborted();
    throw modelErrorOf(error, scene());
  } finally {
    // Whoever leaves early closes the connection.
    reader?.cancel().catch(() => {});
  }
}

/** The names of all tools that the request speaks of. */
function namesOf({ tools, messages, toolChoice }: ModelRequest): ToolNames {
  const called = messages.flatMap((message) =>
    message.role === "assistant" ? message.calls.map(({ name }) => name) : []
  );
  const chosen = typeof toolChoice === "string" ? [] : [toolChoice.tool];
  return new ToolNames([...tools.map(({ name }) => name), ...called, ...chosen]);
}

function callOf(
  { identity, capabilities, providerOptions, outputTokensMax }: VendorOptions,
  request: ModelRequest,
  { names, signal }: { readonly names: ToolNames; readonly signal: AbortSignal },
): LanguageModelV4CallOptions {
  const tools = capabilities.toolCalling ? request.tools : [];
  const { toolChoice } = request;
  const isKept = capabilities.promptCaching === true && identity.kind === "anthropic";
  const prompt = promptOf(request.messages, {
    names,
    identity,
    ...(request.images === undefined ? {} : { images: request.images }),
  });
  const told = tools.map((tool): LanguageModelV4FunctionTool => ({
    type: "function",
    name: names.toVendor(tool.name),
    description: tool.description,
    inputSchema: toldSchema(tool.inputSchema as JsonObject, capabilities.strictToolSchema) as Schema,
  }));
  return {
    prompt: isKept ? markedPrompt(prompt) : prompt,
    maxOutputTokens: Math.min(request.maxOutputTokens, outputTokensMax ?? Infinity),
    abortSignal: signal,
    ...(providerOptions === undefined ? {} : { providerOptions }),
    ...(request.outputSchema === undefined ? {} : {
      responseFormat: {
        type: "json",
        schema: toldSchema(request.outputSchema, capabilities.strictToolSchema) as Schema,
        name: "answer",
      },
    }),
    ...(tools.length === 0 ? {} : {
      tools: isKept ? markedTools(told) : told,
      toolChoice: typeof toolChoice === "string"
        ? { type: toolChoice }
        : { type: "tool", toolName: names.toVendor(toolChoice.tool) },
    }),
  };
}

type Schema = LanguageModelV4FunctionTool["inputSchema"];

function isReasonMissing(error: unknown): boolean {
  return error instanceof Error && /without a finish reason/.test(error.message);
}

type Finish = Extract<LanguageModelV4StreamPart, { type: "finish" }>;

/** Throws if an answer ended in a way that leaves nothing to go on with. */
function checkFinish(
  { finishReason: { unified, raw: said }, providerMetadata }: Finish,
  { hasSaid, isWhole }: { readonly hasSaid: boolean; readonly isWhole: boolean },
  { provider, model }: ErrorScene,
): void {
  const who = `The provider "${provider}"`;
  const blocked = blockReasonOf(providerMetadata);
  const raw = blocked ?? said;
  const why = raw === undefined ? "" : `: ${raw.slice(0, 100)}`;
  if ((unified === "content-filter" || blocked !== undefined) && !hasSaid) {
    throw new ModelError("model_refused", `${who} refused to answer for "${model}"${why}`);
  }
  // A package ends its own stream even if the server's broke off: then nobody said why it ended.
  const isOpen = unified === "interrupted" || raw === undefined && unified === "other";
  if (isOpen && !isWhole) {
    throw new ModelError("model_unreachable", `${who} broke off its answer for "${model}" before its end`);
  }
  if (raw !== undefined && (unified === "error" || raw === "error")) {
    throw new ModelError("model_server_failed", `${who} ended its answer for "${model}" with an error${why}`);
  }
}

/** Google says why it answers nothing to a prompt beside the answer, not as its end. */
function blockReasonOf(metadata: Finish["providerMetadata"]): string | undefined {
  const feedback = metadata?.["google"]?.["promptFeedback"];
  const reason = typeof feedback === "object" && feedback !== null
    ? Reflect.get(feedback, "blockReason")
    : undefined;
  return typeof reason === "string" ? reason : undefined;
}
