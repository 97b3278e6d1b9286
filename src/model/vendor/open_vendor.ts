/** The vendor packages: each is loaded when its first model is asked, and never before. */
import type { LanguageModelV4, SharedV4ProviderOptions } from "@ai-sdk/provider";
import type { JsonObject } from "../../../schemas/json.ts";
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

/** What each kind calls itself in `providerOptions`, and what it is told unless the operator says otherwise. */
const optionKeys: { readonly [K in ProviderKind]: readonly [key: string, usual: JsonObject] } = {
  openai_compatible: ["compatible", {}],
  // Nothing is left with the vendor: what it would keep goes back to it with the next request.
  openai: ["openai", { store: false }],
  anthropic: ["anthropic", {}],
  google: ["google", {}],
};

/** What a request of this kind says besides. */
export function providerOptionsOf(
  kind: ProviderKind,
  options: JsonObject | undefined,
): SharedV4ProviderOptions {
  const [key, usual] = optionKeys[kind];
  return { [key]: { ...usual, ...options } } as SharedV4ProviderOptions;
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
