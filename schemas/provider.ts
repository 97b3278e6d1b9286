/** `providers` and `models` of `troupe.yaml`: who serves models, and the names that agents may use for them. */
import { z } from "zod";
import { JsonObject } from "./json.ts";
import { limits } from "./limits.ts";
import { SecretSource } from "./secret.ts";

/** Name of a provider: the part of a model before the slash. */
export const ProviderName = z.string().regex(
  /^(?!scripted$)[a-z][a-z0-9_-]{0,47}$/,
  'must be lower-case letters, digits, _ and -, beginning with a letter, at most 48, and not "scripted"',
);

/** A name of an agent's choice for a model: it has no slash. */
export const ModelAlias = z.string().regex(
  /^[a-z][a-z0-9_.-]{0,47}$/,
  "must be lower-case letters, digits, _ . and -, beginning with a letter, at most 48",
);

/** `<provider>/<model id>`: the id is what the provider calls it, and may have slashes of its own. */
export const ModelReference = z.string().max(200).regex(
  /^[a-z][a-z0-9_-]{0,47}\/\S+$/,
  "must look like provider/model",
);

/** The protocol that a provider speaks. */
export const ProviderKind = z.enum(["openai_compatible", "openai", "anthropic", "google"]);
/** The protocol that a provider speaks. */
export type ProviderKind = z.infer<typeof ProviderKind>;

/** A text, or where a secret is. */
const HeaderValue = z.string().max(8_192).regex(/^[\x20-\x7e]*$/, "must be visible characters on one line");
const HeaderName = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$/, "must be the name of a header");

/** Headers whose value is a secret. */
const secretHeader = /authorization|cookie|api-?key|token|secret|password/i;

/** True if a text says where a secret is. */
export function isSecretSource(text: string): boolean {
  return SecretSource.safeParse(text).success;
}

const BaseUrl = z.string().max(2_048).refine((text) => {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.hostname !== "" && url.username === "" &&
    url.password === "" && url.search === "" && url.hash === "";
}, "must be a URL like https://host/v1, without a login, ? and #");

/** What the calls of a model may look like, where it differs from what its provider's kind can do. */
const Abilities = z.strictObject({
  tool_calling: z.boolean().optional(),
  parallel_tool_calls: z.boolean().optional(),
  /** True: schemas of tools are told as they are. False: in the words that every provider knows. */
  strict_tool_schema: z.boolean().optional(),
  /** False: the vendor is not told up to where it may keep what requests begin with. Anthropic alone wants that. */
  prompt_caching: z.boolean().optional(),
  /** True: images are parts of prompts. False: a prompt that brings some is refused. */
  image_input: z.boolean().optional(),
  /** True: the form of an answer (`output_schema`) is told by the protocol's own means. False: by the instructions. */
  structured_output: z.boolean().optional(),
});

/** How long a model may say nothing, before its answer and within it. Milliseconds. */
const TimeoutMs = z.int().min(1_000).max(limits.modelAnswerDurationMsMax);

/** One provider. */
export const ProviderConfig = z.strictObject({
  kind: ProviderKind,
  /** Where its API begins. Vendors have one of their own. */
  base_url: BaseUrl.optional(),
  /** Where the key is, never the key. */
  api_key: SecretSource.optional(),
  /** Sent with every request. A value `env:NAME` or `file:PATH` is read from there. */
  headers: z.record(HeaderName, HeaderValue).default({}),
  /** True if `base_url` may lead to this machine or a private network, and by plain http. Redirects are never followed. */
  allow_private: z.boolean().default(false),
  /** Requests at once; those above it wait. */
  concurrency: z.int().min(1).max(limits.providerConcurrencyMax).optional(),
  /** For models that say nothing else. */
  timeout_ms: TimeoutMs.optional(),
  enabled: z.boolean().default(true),
  /** The only models that may be asked. Without it, every one. */
  models: z.array(z.string().min(1).max(200)).min(1).max(limits.modelAliasesMax).optional(),
  capabilities: Abilities.prefault({}),
}).superRefine((provider, { addIssue }) => {
  const refuse = (path: string[], message: string) => {
    addIssue({ code: "custom", path, message, input: provider });
  };
  const { kind, base_url, api_key, headers } = provider;
  if (kind === "openai_compatible" && base_url === undefined) {
    refuse([], "an openai_compatible provider needs base_url, like http://localhost:11434/v1");
  }
  if (kind !== "openai_compatible" && api_key === undefined) {
    refuse([], `it needs api_key, like env:${kind.toUpperCase()}_API_KEY`);
  }
  for (const [name, value] of Object.entries(headers)) {
    if (secretHeader.test(name) && !isSecretSource(value)) {
      refuse(["headers", name], "a secret does not stand here: name it, like env:NAME");
    }
  }
});
/** One provider. */
export type ProviderConfig = z.infer<typeof ProviderConfig>;

const priceUsd = z.number().min(0).max(1_000_000);

/** What a million tokens cost, in US dollars. */
export const ModelPrices = z.strictObject({
  input_per_million_usd: priceUsd,
  output_per_million_usd: priceUsd,
  /** Of tokens that the provider had kept from before; without it as much as others. */
  cached_input_per_million_usd: priceUsd.optional(),
});
/** What a million tokens cost. */
export type ModelPrices = z.infer<typeof ModelPrices>;

/** A model under a name: which one it is, and what holds for it. */
export const ModelSettings = z.strictObject({
  model: ModelReference,
  /** Who may answer instead, in this order; for agents that name no fallbacks of their own. */
  fallbacks: z.array(z.union([ModelReference, ModelAlias])).max(limits.modelFallbacksMax).optional(),
  enabled: z.boolean().default(true),
  limits: z.strictObject({
    context_tokens: z.int().min(1).max(100_000_000).optional(),
    output_tokens: z.int().min(1).max(10_000_000).optional(),
  }).prefault({}),
  capabilities: Abilities.prefault({}),
  prices: ModelPrices.optional(),
  timeout_ms: TimeoutMs.optional(),
  /** What else the vendor's protocol takes, as the provider package calls it, like `reasoningEffort`. */
  options: JsonObject.optional(),
});
/** A model under a name. */
export type ModelSettings = z.infer<typeof ModelSettings>;

/** `provider/model`, or a map with more. */
export const ModelConfig = z.union([ModelReference, ModelSettings]);
/** `provider/model`, or a map with more. */
export type ModelConfig = z.infer<typeof ModelConfig>;

/** All providers of a host. */
export const ProviderConfigs = z.record(ProviderName, ProviderConfig).refine(
  (all) => Object.keys(all).length <= limits.modelProvidersMax,
  `must have at most ${limits.modelProvidersMax} providers`,
);

/** All names for models of a host. */
export const ModelConfigs = z.record(ModelAlias, ModelConfig).refine(
  (all) => Object.keys(all).length <= limits.modelAliasesMax,
  `must have at most ${limits.modelAliasesMax} models`,
);

/** Why a model cannot be asked (CM-116). Codes: programs may rely on them. */
export const UnavailableReason = z.enum([
  "unknown_provider",
  "unknown_model",
  "model_disabled",
  "provider_disabled",
  "policy_disabled",
  "missing_credential",
]);
/** Why a model cannot be asked. */
export type UnavailableReason = z.infer<typeof UnavailableReason>;
