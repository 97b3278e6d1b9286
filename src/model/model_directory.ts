/** The models of a host: which one a name means, what holds for it, and why it cannot be asked (CM-116). */
import type { HostConfig } from "../../schemas/config.ts";
import type { ModelCapabilities } from "../../schemas/model.ts";
import {
  isSecretSource,
  ModelSettings,
  type ProviderConfig,
  type ProviderKind,
  type UnavailableReason,
} from "../../schemas/provider.ts";
import { UrlPolicy } from "../net/url_policy.ts";
import { nearest } from "../../actors/nearest.ts";
import { splitModel } from "./provider.ts";

/** A secret that was looked for. Exactly one of the two is set. */
export interface FoundSecret {
  readonly value: string | undefined;
  /** Why there is none, in one clause. */
  readonly problem: string | undefined;
}

/** What a directory is made of. */
export interface DirectoryParts {
  readonly config: Pick<HostConfig, "providers" | "models" | "network">;
  /** Every secret that a provider names, by where it is: `env:NAME`. */
  readonly secrets: ReadonlyMap<string, FoundSecret>;
}

/** A model that can be asked. */
export interface AvailableModel {
  readonly isAvailable: true;
  /** As it was asked for: `provider/model`, or a name of `models`. */
  readonly name: string;
  readonly provider: string;
  readonly model: string;
  readonly config: ProviderConfig;
  readonly settings: ModelSettings;
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly headers: { readonly [name: string]: string };
  readonly capabilities: ModelCapabilities;
}

/** A model that cannot. */
export interface UnavailableModel {
  readonly isAvailable: false;
  readonly name: string;
  readonly provider: string | undefined;
  readonly model: string | undefined;
  readonly reason: UnavailableReason;
  /** What is wrong and what to do, in one line. */
  readonly message: string;
}

/** What a name means. */
export type FoundModel = AvailableModel | UnavailableModel;

/** What models of a kind hold unless something is known of the one. */
const contextTokens: { readonly [K in ProviderKind]: number } = {
  openai_compatible: 32_768,
  openai: 128_000,
  anthropic: 200_000,
  google: 1_000_000,
};

/** Whether models of a kind are known to take the form of an answer: not all do while they are told of tools. */
const structuredOutputs: { readonly [K in ProviderKind]: "never" | "without_tools" | "always" } = {
  openai_compatible: "never",
  openai: "always",
  anthropic: "without_tools",
  google: "without_tools",
};

/** Where each kind's API begins, unless the provider says otherwise. Never read from the environment. */
const vendorUrls: { readonly [K in ProviderKind]?: string } = {
  openai: "https://api.openai.com/v1",
  anthropic: "https://api.anthropic.com/v1",
  google: "https://generativelanguage.googleapis.com/v1beta",
};

/** The models of a host. */
export class ModelDirectory {
  readonly #parts: DirectoryParts;

  constructor(parts: DirectoryParts) {
    this.#parts = parts;
  }

  /** The secrets that providers name, by where each is. */
  get secrets(): ReadonlyMap<string, FoundSecret> {
    return this.#parts.secrets;
  }

  /** What a name means: `provider/model`, or a name of `models`. Asks nobody. */
  find(name: string): FoundModel {
    const settings = this.#settingsOf(name);
    if (settings === undefined) return this.#unknownName(name);
    const [provider, model] = splitModel(settings.model);
    const refuse = (reason: UnavailableReason, message: string): UnavailableModel => ({
      isAvailable: false,
      name,
      provider,
      model,
      reason,
      message,
    });
    const config = own(this.#parts.config.providers, provider);
    if (config === undefined) return refuse("unknown_provider", this.#unknownProvider(provider));
    if (!config.enabled) {
      return refuse("provider_disabled", `the provider "${provider}" is off: set its enabled in troupe.yaml`);
    }
    if (!settings.enabled) {
      return refuse("model_disabled", `the model "${name}" is off: set its enabled in troupe.yaml`);
    }
    if (config.models !== undefined && !config.models.includes(model)) {
      const known = config.models.slice(0, 8).join(", ");
      const message = `the provider "${provider}" has no model "${model}" in troupe.yaml; it has ${known}`;
      return refuse("unknown_model", message);
    }
    return this.#reached({ name, provider, model, config, settings }, refuse);
  }

  /** Everything that can be named: the names of `models`, and what providers list; `provider/*` if that is all. */
  list(): readonly FoundModel[] {
    const { models, providers } = this.#parts.config;
    const listed = Object.entries(providers).flatMap(([provider, config]) =>
      (config.models ?? ["*"]).map((model) => `${provider}/${model}`)
    );
    return [...new Set([...Object.keys(models), ...listed])].map((name) => this.find(name));
  }

  /** Who may answer instead of a model, by its name in `models`. */
  fallbacksOf(name: string): readonly string[] {
    return this.#settingsOf(name)?.fallbacks ?? [];
  }

  /** Where requests of a provider may go: where those of the host may, and to its own place if that is allowed. */
  policyOf(config: ProviderConfig): UrlPolicy {
    const { allow } = this.#parts.config.network;
    const url = URL.parse(config.base_url ?? "");
    if (!config.allow_private || url === null) return new UrlPolicy({ allow });
    const port = url.port === "" ? url.protocol === "http:" ? "80" : "443" : url.port;
    return new UrlPolicy({ allow: [...allow, `${url.hostname}:${port}`] });
  }

  #reached(
    found: Pick<AvailableModel, "name" | "provider" | "model" | "config" | "settings">,
    refuse: (reason: UnavailableReason, message: string) => UnavailableModel,
  ): FoundModel {
    const { config, provider, settings } = found;
    const baseUrl = (config.base_url ?? vendorUrls[config.kind] ?? "").replace(/\/+$/, "");
    const verdict = this.policyOf(config).judge(baseUrl);
    if (verdict.type === "refused") {
      const hint = config.allow_private ? "" : ", or set allow_private: true at the provider";
      const message = `base_url of the provider "${provider}": ${verdict.refusal.message}${hint}`;
      return refuse("policy_disabled", message);
    }
    const apiKey = config.api_key === undefined ? undefined : this.#secret(config.api_key);
    const sources = Object.entries(config.headers).filter(([, value]) => isSecretSource(value));
    const missing = [
      ...(config.api_key === undefined ? [] : [["api_key", config.api_key] as const]),
      ...sources,
    ].find(([, source]) => this.#secret(source) === undefined);
    if (missing !== undefined) {
      const [field, source] = missing;
      const why = this.#parts.secrets.get(source)?.problem ?? "it was not looked for";
      const message = `${field} of the provider "${provider}" is ${sourceText(source)}, and ${why}`;
      return refuse("missing_credential", message);
    }
    const headers = Object.entries(config.headers).map(([name, value]) => [
      name,
      isSecretSource(value) ? this.#secret(value) ?? "" : value,
    ]);
    const capabilities = capabilitiesOf(config, settings);
    return {
      isAvailable: true,
      ...found,
      baseUrl,
      apiKey,
      headers: Object.fromEntries(headers),
      capabilities,
    };
  }

  #secret(source: string): string | undefined {
    return this.#parts.secrets.get(source)?.value;
  }

  #settingsOf(name: string): ModelSettings | undefined {
    if (name.includes("/")) return ModelSettings.safeParse({ model: name }).data;
    const config = own(this.#parts.config.models, name);
    return typeof config === "string" ? ModelSettings.parse({ model: config }) : config;
  }

  #unknownName(name: string): UnavailableModel {
    const near = nearest(name, Object.keys(this.#parts.config.models));
    const hint = near === undefined ? "write provider/model, or add it there" : `did you mean ${near}?`;
    const message = `models of troupe.yaml has no "${name}": ${hint}`;
    const nobody = { provider: undefined, model: undefined };
    return { isAvailable: false, name, ...nobody, reason: "unknown_model", message };
  }

  #unknownProvider(provider: string): string {
    const known = Object.keys(this.#parts.config.providers);
    const near = nearest(provider, known);
    if (near !== undefined) return `there is no model provider "${provider}": did you mean ${near}?`;
    const has = known.length === 0
      ? "this host has none but scripted/<script file>"
      : `known are ${known.join(", ")}`;
    return `there is no model provider "${provider}": ${has}; add it to providers of troupe.yaml`;
  }
}

function own<T>(record: { readonly [name: string]: T }, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** A file's path is nobody's business. */
function sourceText(source: string): string {
  return source.startsWith("env:") ? source : "in a file";
}

function capabilitiesOf(config: ProviderConfig, settings: ModelSettings): ModelCapabilities {
  const {
    tool_calling,
    parallel_tool_calls,
    strict_tool_schema,
    structured_output,
    image_input,
    prompt_caching,
  } = {
    ...config.capabilities,
    ...settings.capabilities,
  };
  const usual = structuredOutputs[config.kind];
  const isVendors = config.kind === "openai" || config.kind === "anthropic";
  return {
    toolCalling: tool_calling ?? true,
    strictToolSchema: strict_tool_schema ?? isVendors,
    parallelToolCalls: parallel_tool_calls ?? true,
    streaming: true,
    promptCaching: prompt_caching ?? config.kind === "anthropic",
    imageInput: image_input ?? config.kind !== "openai_compatible",
    structuredOutput: structured_output === undefined ? usual : structured_output ? "always" : "never",
    responseContinuation: false,
    maxContextTokens: settings.limits.context_tokens ?? contextTokens[config.kind],
  };
}
