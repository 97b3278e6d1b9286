/** The homes of sessions, read from their first entries: agent, workspace, models. */
import { z } from "zod";
import { AgentDefinition } from "../../schemas/agent.ts";
import { type Failure, failure } from "../../schemas/failure.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { PermissionMode } from "../../schemas/mode.ts";
import { localOperator, Principal } from "../../schemas/principal.ts";
import type { HostServices } from "../host_services.ts";
import { loadScript, ScriptFileError } from "../model/load_script.ts";
import { ModelError, type ModelProvider, splitModel } from "../model/provider.ts";
import { createScriptedProvider } from "../model/scripted.ts";
import { openWorkspace, type Workspace } from "../tools/workspace.ts";
import { embeddedAgent } from "./embedded.ts";
import type { HostModels } from "./host_models.ts";
import { readHome, type SessionHome } from "./session_home.ts";

/** Sessions whose home is kept in memory; the oldest goes first, and is read again when it is needed. */
const sessionsMax = 256;

/** What the first entry of a session says about it, as far as performers need it. */
const Created = z.looseObject({
  input: z.looseObject({
    agent: AgentDefinition,
    home: z.string(),
    mode: PermissionMode.default("default"),
    principal: Principal.default(localOperator),
  }),
});

/** What performers know of one session. */
export interface SessionPlace {
  readonly agent: AgentDefinition;
  readonly mode: PermissionMode;
  /** For whom it acts. */
  readonly principal: Principal;
  readonly home: SessionHome;
  readonly workspace: Workspace | Failure;
  /** The agent's own folder; undefined if it has none, or it is gone. */
  readonly agentFolder: Workspace | undefined;
  /** Providers by the model that they stand for. */
  readonly providers: Map<string, Promise<ModelProvider>>;
}

/** The homes of sessions, read from their first entries. */
export class SessionPlaces {
  readonly #services: HostServices;
  /** Who is asked besides scripts; undefined if nobody is. */
  readonly #models: Pick<HostModels, "open"> | undefined;
  readonly #places = new Map<RootAddress, Promise<SessionPlace | Failure>>();
  readonly #known = new Map<RootAddress, SessionPlace>();

  constructor(services: HostServices, models?: Pick<HostModels, "open">) {
    this.#services = services;
    this.#models = models;
  }

  async open(root: RootAddress): Promise<SessionPlace | Failure> {
    const known = this.#places.get(root) ?? this.#read(root);
    // Last in, last out: a session that is in use stays.
    this.#places.delete(root);
    this.#places.set(root, known);
    for (const oldest of this.#places.keys()) {
      if (this.#places.size <= sessionsMax) break;
      this.#places.delete(oldest);
      this.#known.delete(oldest);
    }
    const place = await known;
    if ("code" in place) this.#places.delete(root);
    else this.#known.set(root, place);
    return place;
  }

  /** A place that was opened just before. */
  known(root: RootAddress): SessionPlace {
    const place = this.#known.get(root);
    if (place === undefined) throw new Error(`Cannot use the home of "${root}": it was not opened`);
    return place;
  }

  workspaceOf(root: RootAddress): Workspace {
    const { workspace } = this.known(root);
    if ("code" in workspace) throw new Error(`Cannot use the workspace of "${root}": ${workspace.message}`);
    return workspace;
  }

  async providerOf(name: string, root: RootAddress, model: string): Promise<ModelProvider | undefined> {
    const place = await this.open(root);
    if ("code" in place) throw new ModelError("model_unknown", place.message);
    const isScript = name === "scripted" && model !== name;
    // A script that was named for the session stands for its model, whoever's that is.
    if (!isScript && !isOverridden(place, model)) return await this.#models?.open(model);
    const known = place.providers.get(model) ?? loadProvider(place, model);
    place.providers.set(model, known);
    return await known.catch((error) => {
      place.providers.delete(model); // The file may be corrected meanwhile.
      throw error;
    });
  }

  /** The workspace of a session that may not be open yet. */
  async openWorkspace(root: RootAddress): Promise<Workspace | Failure> {
    const place = await this.open(root);
    return "code" in place ? place : place.workspace;
  }

  async #read(root: RootAddress): Promise<SessionPlace | Failure> {
    for await (const entry of this.#services.journal.readEntries(root)) {
      const created = Created.safeParse(entry.body);
      const home = created.success ? readHome(created.data.input.home) : undefined;
      if (!created.success || home === undefined) break;
      const opened = await openWorkspace(home.workspace);
      const workspace = opened.ok ? opened.value : opened.failure;
      const { agent, mode, principal } = created.data.input;
      const own = home.agent.kind === "folder" ? await openWorkspace(home.agent.path) : undefined;
      const agentFolder = own?.ok ? own.value : undefined;
      return { agent, mode, principal, home, workspace, agentFolder, providers: new Map() };
    }
    return failure("tool_failed", "The session does not say where it is at home: it is from another release");
  }
}

async function loadProvider({ agent, home }: SessionPlace, model: string): Promise<ModelProvider> {
  if (home.script === undefined && home.agent.kind === "embedded") {
    const embedded = embeddedAgent(home.agent.name);
    if (embedded === undefined) {
      throw new ModelError("model_unknown", `This release has no embedded agent "${home.agent.name}"`);
    }
    return createScriptedProvider(embedded.script);
  }
  if (home.script === undefined && home.agent.kind === "inline") {
    throw new ModelError("model_unknown", "An agent that came as data has no script: its host names one");
  }
  try {
    return createScriptedProvider(await readScript(agent, home, model));
  } catch (error) {
    if (error instanceof ScriptFileError) {
      throw new ModelError("model_unknown", `Cannot use the script of the agent: ${error.message}`, {
        cause: error,
      });
    }
    // What readConfigFile says about the text holds places, never values.
    const isAboutText = error instanceof Error &&
      (error.name === "ConfigError" || error.name === "YamlError");
    if (isAboutText) throw new ModelError("model_unknown", error.message, { cause: error });
    throw error;
  }
}

/** A script that was given for the session stands for the agent's own model, never for a fallback. */
function isOverridden({ agent, home }: Pick<SessionPlace, "agent" | "home">, model: string): boolean {
  return home.script !== undefined && model === agent.model;
}

async function readScript(agent: AgentDefinition, home: SessionHome, model: string) {
  if (home.script !== undefined && isOverridden({ agent, home }, model)) {
    const cut = Math.max(home.script.lastIndexOf("/"), home.script.lastIndexOf("\\"));
    return await loadScript(home.script.slice(0, cut) || "/", home.script.slice(cut + 1));
  }
  const folder = home.agent.kind === "folder" ? home.agent.path : "";
  const [, path] = splitModel(model);
  return await loadScript(folder, path);
}
