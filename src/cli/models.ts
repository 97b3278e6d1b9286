/** `troupe models`. */
import { readHostSettings } from "../host/home.ts";
import type { FoundModel } from "../model/model_directory.ts";
import { type Cli, defineCommand, jsonOption } from "./cli.ts";
import { CheckFailedError, exitCodes } from "./exit.ts";
import { jsonLine } from "./json_line.ts";
import { openModels } from "./model_refusal.ts";
import { printTable } from "./table.ts";

/** Lists the models of this host. */
export const command = defineCommand({
  args: ["[MODEL]"],
  about: [
    "Lists the models that agents of this host may name: those of models in troupe.yaml, and those that its providers",
    "list. A provider that lists none is shown as provider/*: it may be asked for any. Nobody is asked here.",
    "With MODEL, that one alone; exit code 1 if it cannot be asked. Reasons: unknown_provider, unknown_model,",
    "provider_disabled, model_disabled, policy_disabled (base_url leads where network does not allow), and",
    "missing_credential. Keys are never shown.",
  ],
  options: { json: jsonOption },
  examples: ["troupe models", "troupe models local/llama3.2", "troupe models fast --json"],
  run: async ({ cli, options, args: [name] }) => {
    const settings = await readHostSettings(cli.env);
    const directory = await openModels(cli, settings.config);
    const found = name === undefined ? directory.list() : [directory.find(name)];
    show(cli, found, options.json);
    const [only] = found;
    if (name !== undefined && only?.isAvailable === false) {
      throw new CheckFailedError(only.reason, `The model "${name}" cannot be asked: ${only.message}`);
    }
    return exitCodes.ok;
  },
});

function show({ terminal }: Cli, found: readonly FoundModel[], json: boolean): void {
  const { out, err } = terminal;
  if (json) { for (const model of found) out.line(jsonLine(viewOf(model))); }
  else if (found.length === 0) {
    err.line("This host has no models but scripts: add providers and models to troupe.yaml");
  } else {
    printTable(
      terminal,
      ["NAME", "PROVIDER", "MODEL", "CONTEXT", "STATUS"],
      found.map((model) => [
        model.name,
        model.provider ?? "-",
        model.model ?? "-",
        model.isAvailable ? String(model.capabilities.maxContextTokens) : "-",
        model.isAvailable ? "available" : `${model.reason}: ${model.message}`,
      ]),
    );
  }
}

/** What programs are told: never a key, nor where one is. */
function viewOf(found: FoundModel) {
  const { name, provider = null, model = null } = found;
  const common = { name, provider, model, available: found.isAvailable };
  if (!found.isAvailable) return { ...common, reason: found.reason, message: found.message };
  const { config, baseUrl, capabilities, settings } = found;
  return {
    ...common,
    kind: config.kind,
    base_url: baseUrl,
    capabilities,
    ...(settings.limits.output_tokens === undefined ? {} : { output_tokens: settings.limits.output_tokens }),
    ...(settings.prices === undefined ? {} : { prices: settings.prices }),
    fallbacks: settings.fallbacks ?? [],
  };
}
