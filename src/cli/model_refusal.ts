/** Refuses an agent whose model cannot be asked, before a session begins and anything is sent. */
import type { HostConfig } from "../../schemas/config.ts";
import type { ModelDirectory } from "../model/model_directory.ts";
import type { Cli } from "./cli.ts";
import { UsageError } from "./exit.ts";

/** The models of this host. Loaded here: most commands need none of them. */
export async function openModels(cli: Cli, config: HostConfig): Promise<ModelDirectory> {
  const { openDirectory } = await import("../host/host_models.ts");
  return await openDirectory(config, cli.env);
}

/** Refuses a model that is not to be had, by the reason of CM-116. */
export function refuseModel(models: ModelDirectory | undefined, model: string): void {
  if (models === undefined || model.startsWith("scripted/")) return;
  const found = models.find(model);
  if (found.isAvailable) return;
  throw new UsageError(found.reason, `The model "${model}" cannot be asked: ${found.message}`);
}
