/** The performers that depend on the host: models by the agent's home, tools in the session's workspace. */
import { z } from "zod";
import { AgentDefinition } from "../../schemas/agent.ts";
import type { HistoryScope } from "../../schemas/config.ts";
import { type Failure, failure } from "../../schemas/failure.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { PermissionMode } from "../../schemas/mode.ts";
import { type CommandReviewOptions, createCommandReview } from "../effects/command_review.ts";
import type { Conversations } from "../effects/conversation.ts";
import { createModelGenerate } from "../effects/model_generate.ts";
import { createModelSample } from "../effects/model_sample.ts";
import { createMcpConnection, type ToolReview } from "../effects/mcp_connection.ts";
import type { Performance, PerformerResult } from "../effects/performer.ts";
import { createTaskRun } from "../effects/task_run.ts";
import { createProgramCall } from "../effects/program_call.ts";
import { createSessionArchive } from "../effects/session_archive.ts";
import { createTerminalCall, type TerminalCallOptions } from "../effects/terminal_call.ts";
import { createToolCall, createToolVerify, type ToolCall } from "../effects/tool_call.ts";
import type { Connections } from "../mcp/connections.ts";
import type { GuardedClient } from "../net/guarded_client.ts";
import { loadScript, ScriptFileError } from "../model/load_script.ts";
import { ModelError, type ModelProvider } from "../model/provider.ts";
import { createScriptedProvider } from "../model/scripted.ts";
import type { HostPerformers, HostServices } from "../host_services.ts";
import { builtinTools } from "../tools/builtin.ts";
import type { ToolBlobs } from "../tools/tool.ts";
import { openWorkspace, type Workspace } from "../tools/workspace.ts";
import { splitModel } from "./agent_folder.ts";
import { embeddedAgent } from "./embedded.ts";
import { createHostMcpCall } from "./host_mcp_call.ts";
import { readHome, type SessionHome } from "./session_home.ts";

/** Sessions whose home is kept in memory; the oldest goes first, and is read again when it is needed. */
const sessionsMax = 256;

/** What the first entry of a session says about it, as far as performers need it. */
const Created = z.looseObject({
  input: z.looseObject({
    agent: AgentDefinition,
    home: z.string(),
    mode: PermissionMode.default("default"),
  }),
});

/** What performers know of one session. */
interface Place {
  readonly agent: AgentDefinition;
  readonly mode: PermissionMode;
  readonly home: SessionHome;
  readonly workspace: Workspace | Failure;
  /** The agent's own folder; undefined if it has none, or it is gone. */
  readonly agentFolder: Workspace | undefined;
  /** Providers by the model that they stand for. */
  readonly providers: Map<string, Promise<ModelProvider>>;
}

/** What a host gives to commands. */
export type HostCommands =
  & Omit<TerminalCallOptions, "redactor" | "seams">
  & Pick<CommandReviewOptions, "ownersHome" | "review">;

/** What a host reaches the outside with. */
export interface HostReach {
  readonly connections: Connections;
  readonly commands: HostCommands;
  /** The one way out by HTTP. */
  readonly http: Pick<GuardedClient, "fetch">;
  readonly pins?: ToolReview;
  /** What sessions may read of the past; by default themselves. */
  readonly history?: HistoryScope;
}

/** Makes the performers of a host. */
export function createHostPerformers(
  services: HostServices,
  { connections, commands, http, pins, history }: HostReach,
): HostPerformers {
  const places = new Places(services);
  const { conversations, catalogOf, journal, rawArguments, redactor, seams } = services;
  const call = createToolCall({
    tools: builtinTools,
    catalogOf,
    workspaceOf: (root) => places.workspaceOf(root),
    agentFolderOf: (root) => places.known(root).agentFolder,
    permissionsOf: (root) => {
      const { agent, mode } = places.known(root);
      return { mode, capabilities: agent.capabilities };
    },
    messages: (root, intent) => conversations.transcript(root, intent),
    appState: (root) => conversations.stateOf(root),
    blobs: blobsOf(services),
    redactor,
    rawArguments,
    hasResult: (root, digest) => conversations.hasResult(root, digest),
    seams,
    fetch: http.fetch,
    tasks: services.tasks,
    sessionsOf: archives(services, history),
    mcp: createHostMcpCall(services, connections),
    program: createProgramCall({ programOf: (name) => services.programs.find(name), seams }),
    commands: createTerminalCall({ ...commands, redactor, seams }),
  });
  return {
    ...createMcpConnection({
      connections,
      seams,
      redactor,
      putBlob: (blob) => journal.writer.putBlob(blob),
      pins,
    }),
    "mcp.call": afterHome(places, conversations, call),
    "mcp.task": afterHome(places, conversations, call),
    "tool.call": afterHome(places, conversations, call),
    "tool.verify": createToolVerify(),
    "task.run": createTaskRun({}),
    "model.sample": createModelSample({
      agentOf: async (root) => {
        const place = await places.open(root);
        return "code" in place ? undefined : place.agent;
      },
      providerOf: (name, root, model) => places.providerOf(name, root, model),
      redactor,
      seams,
    }),
    "command.review": afterHome(places, conversations, reviewer(services, places, commands)),
    "model.generate": createModelGenerate({
      providerOf: (name, root, model) => places.providerOf(name, root, model),
      transcript: (root, intent) => conversations.transcript(root, intent),
      exposureOf: (root) => conversations.exposureOf(root),
      catalogOf,
      redactor,
      rawArguments,
      seams,
    }),
  };
}

/** What each call may read of the past. */
function archives({ journal, seams: { clock } }: HostServices, history: HostReach["history"]) {
  const isOperators = history === "operator";
  return ({ root, request, note = () => {} }: ToolCall) =>
    createSessionArchive({ journal, clock, root, isOperators, ordinal: request.args.invocation, note });
}

function reviewer({ redactor, rawArguments, seams }: HostServices, places: Places, commands: HostCommands) {
  const workspaceOf = (root: RootAddress) => places.workspaceOf(root);
  return createCommandReview({ ...commands, workspaceOf, redactor, rawArguments, seams });
}

/** Opens the session's home and reads its journal before its tool is called: the tool's own look-ups are synchronous. */
function afterHome<C extends ToolCall | Performance<"command.review">>(
  places: Places,
  conversations: Conversations,
  perform: (call: C) => Promise<PerformerResult>,
): (call: C) => Promise<PerformerResult> {
  return async (call) => {
    const loading = conversations.load(call.root);
    if (loading !== undefined) await loading;
    const place = await places.open(call.root);
    if ("code" in place) return { status: "failed", failure: place };
    if ("code" in place.workspace) return { status: "failed", failure: place.workspace };
    return await perform(call);
  };
}

function blobsOf({ journal, seams }: HostServices): ToolBlobs {
  return {
    put: async (bytes, mediaType, name) => {
      const digest = await seams.digest(bytes);
      journal.writer.putBlob({ digest, bytes });
      return { name, mediaType, bytes: bytes.length, digest };
    },
    get: async (digest) => {
      try {
        return await journal.readBlob(digest);
      } catch {
        return undefined; // Not written, or not yet: the tool says what it misses.
      }
    },
  };
}

/** The homes of sessions, read from their first entries. */
class Places {
  readonly #services: HostServices;
  readonly #places = new Map<RootAddress, Promise<Place | Failure>>();
  readonly #known = new Map<RootAddress, Place>();

  constructor(services: HostServices) {
    this.#services = services;
  }

  async open(root: RootAddress): Promise<Place | Failure> {
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
  known(root: RootAddress): Place {
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
    if (name !== "scripted") return undefined;
    const place = await this.open(root);
    if ("code" in place) throw new ModelError("model_unknown", place.message);
    const known = place.providers.get(model) ?? loadProvider(place, model);
    place.providers.set(model, known);
    return await known.catch((error) => {
      place.providers.delete(model); // The file may be corrected meanwhile.
      throw error;
    });
  }

  async #read(root: RootAddress): Promise<Place | Failure> {
    for await (const entry of this.#services.journal.readEntries(root)) {
      const created = Created.safeParse(entry.body);
      const home = created.success ? readHome(created.data.input.home) : undefined;
      if (!created.success || home === undefined) break;
      const opened = await openWorkspace(home.workspace);
      const workspace = opened.ok ? opened.value : opened.failure;
      const { agent, mode } = created.data.input;
      const own = home.agent.kind === "folder" ? await openWorkspace(home.agent.path) : undefined;
      const agentFolder = own?.ok ? own.value : undefined;
      return { agent, mode, home, workspace, agentFolder, providers: new Map() };
    }
    return failure("tool_failed", "The session does not say where it is at home: it is from another release");
  }
}

async function loadProvider({ agent, home }: Place, model: string): Promise<ModelProvider> {
  if (home.script === undefined && home.agent.kind === "embedded") {
    const embedded = embeddedAgent(home.agent.name);
    if (embedded === undefined) {
      throw new ModelError("model_unknown", `This release has no embedded agent "${home.agent.name}"`);
    }
    return createScriptedProvider(embedded.script);
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
async function readScript(agent: AgentDefinition, home: SessionHome, model: string) {
  if (home.script !== undefined && model === agent.model) {
    const cut = Math.max(home.script.lastIndexOf("/"), home.script.lastIndexOf("\\"));
    return await loadScript(home.script.slice(0, cut) || "/", home.script.slice(cut + 1));
  }
  const folder = home.agent.kind === "folder" ? home.agent.path : "";
  const [, path] = splitModel(model);
  return await loadScript(folder, path);
}
