/** The vendor packages: each is loaded when its first model is asked, and never before. */
import type { LanguageModelV4, SharedV4ProviderOptions } from "@ai-sdk/provider";
import type { JsonObject } from "../../../schemas/json.ts";
import type { ModelCapabilities } from "../../../schemas/model.ts";
import type { ProviderKind } from "../../../schemas/provider.ts";
import type { Send } from "./guarded_send.ts";

/** How a vendor is reached. */
export interface VendorPlace {
  readonly kind: ProviderKind;
  readonly model: string;
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly headers: { readonly [name: string]: string };
}

/** Makes a model that sends by what it is given. */
export type CreateModel = (send: Send) => LanguageModelV4;

/** Stands where a package wants a key and the provider has none: else it would look for one in the environment. */
const noKey = "none";

/** How each kind is told more in `providerOptions`. */
interface Words {
  readonly key: string;
  /** What it is told unless the operator says otherwise. */
  readonly usual: JsonObject;
  /** That it shall call one tool at a time. */
  readonly oneAtATime: JsonObject;
}

const words: { readonly [K in ProviderKind]: Words } = {
  openai_compatible: {
    key: "compatible",
    usual: { strictJsonSchema: false },
    oneAtATime: { parallel_tool_calls: false },
  },
  // A form that is not strict in their words is taken too: every answer is checked here.
  // Nothing is left with the vendor: what it would keep goes back to it with the next request.
  openai: {
    key: "openai",
    usual: { store: false, strictJsonSchema: false },
    oneAtATime: { parallelToolCalls: false },
  },
  anthropic: { key: "anthropic", usual: {}, oneAtATime: { disableParallelToolUse: true } },
  // Has no word for it: calls are carried out one after another all the same where a tool wants it.
  google: { key: "google", usual: {}, oneAtATime: {} },
};

/** What a request of this kind says besides. */
export function providerOptionsOf(
  kind: ProviderKind,
  { parallelToolCalls }: Pick<ModelCapabilities, "parallelToolCalls">,
  options: JsonObject | undefined,
): SharedV4ProviderOptions {
  const { key, usual, oneAtATime } = words[kind];
  const told = { ...usual, ...(parallelToolCalls ? {} : oneAtATime), ...options };
  return { [key]: told } as SharedV4ProviderOptions;
}

/** Loads the package of a kind. */
export async function openVendor(place: VendorPlace): Promise<CreateModel> {
  const { kind, model, baseUrl, apiKey = noKey } = place;
  const headers = { ...place.headers };
  switch (kind) {
    case "openai_compatible": {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const key = place.apiKey === undefined ? {} : { apiKey };
      return (send) =>
        createOpenAICompatible({
          name: "compatible",
          baseURL: baseUrl,
          headers,
          includeUsage: true,
          supportsStructuredOutputs: true,
          ...key,
          fetch: send,
        }).chatModel(model);
    }
    case "openai": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return (send) => createOpenAI({ baseURL: baseUrl, apiKey, headers, fetch: send }).responses(model);
    }
    case "anthropic": {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return (send) =>
        createAnthropic({ baseURL: baseUrl, apiKey, headers, fetch: send }).languageModel(model);
    }
    case "google": {
      const { createGoogle } = await import("@ai-sdk/google");
      return (send) => createGoogle({ baseURL: baseUrl, apiKey, headers, fetch: send }).languageModel(model);
    }
  }
}
