/** The models that a host asks: each is opened when it is first asked, and sends by its provider's own guarded client. */
import type { HostConfig } from "../../schemas/config.ts";
import { isSecretSource, type UnavailableReason } from "../../schemas/provider.ts";
import type { ModelErrorCode } from "../../schemas/script.ts";
import { type AvailableModel, ModelDirectory } from "../model/model_directory.ts";
import { ModelError, type ModelProvider } from "../model/provider.ts";
import { GuardedClient } from "../net/guarded_client.ts";
import type { KnownSecrets } from "../redact/known_secrets.ts";
import type { Seams } from "../seams.ts";
import type { Env } from "./home.ts";
import { readSecrets } from "./secrets.ts";

/** Reads what providers name, and makes the directory. A secret that is not there is told of by the model that needs it. */
export async function openDirectory(config: HostConfig, env: Env): Promise<ModelDirectory> {
  const sources = Object.values(config.providers).flatMap(({ api_key, headers }) => [
    ...(api_key === undefined ? [] : [api_key]),
    ...Object.values(headers).filter(isSecretSource),
  ]);
  const read = await readSecrets(Object.fromEntries(sources.map((source) => [source, source])), env);
  const secrets = new Map(read.map(({ source, value, problem }) => [source, { value, problem }]));
  return new ModelDirectory({ config, secrets });
}

/** What a model that cannot be asked fails with: nothing was sent. */
const codes: { readonly [R in UnavailableReason]: ModelErrorCode } = {
  unknown_provider: "model_unknown",
  unknown_model: "model_unknown",
  model_disabled: "model_unknown",
  provider_disabled: "model_unknown",
  policy_disabled: "model_failed",
  missing_credential: "model_login_failed",
};

/** What the models of a host need. */
export interface HostModelsParts {
  readonly directory: ModelDirectory;
  readonly known: KnownSecrets;
  readonly clock: Seams["clock"];
  readonly log: Seams["log"];
  /** Certificates, in PEM, that count besides those of the system. */
  readonly caCerts?: readonly string[];
}

/** The models of a host that were asked. */
export class HostModels {
  readonly #parts: HostModelsParts;
  readonly #opened = new Map<string, Promise<ModelProvider>>();
  readonly #clients = new Map<string, GuardedClient>();

  constructor(parts: HostModelsParts) {
    this.#parts = parts;
    // From the start: what an agent reads in a file may hold a key too.
    for (const [source, { value }] of parts.directory.secrets) {
      const name = source.startsWith("env:") ? source.slice("env:".length) : "a key of a provider";
      const added = value === undefined ? undefined : parts.known.add({ value, name, source: "bound" });
      if (added === undefined || added === "added" || added === "known") continue;
      const detail = { name, why: `its value is ${added}` };
      parts.log({ level: "warning", event: "secret_unusable", detail });
    }
  }

  /** The provider of a model, by `provider/model` or its name. Throws a `ModelError` before anything is sent. */
  open(name: string): Promise<ModelProvider> {
    const known = this.#opened.get(name) ?? this.#open(name);
    this.#opened.set(name, known);
    known.catch(() => this.#opened.delete(name));
    return known;
  }

  /** Ends every request that is under way. */
  close(): void {
    for (const client of this.#clients.values()) client.close();
  }

  async #open(name: string): Promise<ModelProvider> {
    const found = this.#parts.directory.find(name);
    if (!found.isAvailable) {
      throw new ModelError(codes[found.reason], `The model "${name}" cannot be asked: ${found.message}`);
    }
    const secrets = secretsOf(found);
    const [{ openVendor, providerOptionsOf }, { createVendorProvider }] = await Promise.all([
      import("../model/vendor/open_vendor.ts"),
      import("../model/vendor/vendor_provider.ts"),
    ]);
    const { provider, model, config: { kind }, settings, capabilities, baseUrl, apiKey, headers } = found;
    return createVendorProvider({
      provider,
      identity: { kind, model },
      capabilities,
      createModel: await openVendor({ kind, model, baseUrl, apiKey, headers }),
      client: this.#clientOf(found),
      clock: this.#parts.clock,
      secrets,
      prices: settings.prices,
      providerOptions: providerOptionsOf(kind, capabilities, settings.options),
      concurrency: found.config.concurrency,
      timeoutMs: settings.timeout_ms ?? found.config.timeout_ms,
      outputTokensMax: settings.limits.output_tokens,
    });
  }

  #clientOf({ provider, config }: AvailableModel): GuardedClient {
    const { directory, clock, caCerts = [] } = this.#parts;
    const client = this.#clients.get(provider) ??
      new GuardedClient({ policy: directory.policyOf(config), clock, caCerts });
    this.#clients.set(provider, client);
    return client;
  }
}

/** What must stand in no text. */
function secretsOf({ apiKey, headers, config }: AvailableModel): readonly string[] {
  const named = Object.keys(headers).filter((name) => isSecretSource(config.headers[name] ?? ""));
  return [...(apiKey === undefined ? [] : [apiKey]), ...named.map((name) => headers[name] ?? "")];
}
