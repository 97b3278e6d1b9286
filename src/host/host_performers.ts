/** The performers that depend on the host: models by the agent's home, tools in the session's workspace. */
import type { HistoryScope } from "../../schemas/config.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { type AuthoredCallOptions, createAuthoredCall } from "../effects/authored_call.ts";
import { type CommandReviewOptions, createCommandReview } from "../effects/command_review.ts";
import type { Conversations } from "../effects/conversation.ts";
import { createModelGenerate } from "../effects/model_generate.ts";
import { createModelSample } from "../effects/model_sample.ts";
import { createMcpConnection, type ToolReview } from "../effects/mcp_connection.ts";
import type { Performance, PerformerResult } from "../effects/performer.ts";
import { createTaskRun } from "../effects/task_run.ts";
import { createProgramCall } from "../effects/program_call.ts";
import { createRoundPrepare } from "../effects/round_prepare.ts";
import { createSessionArchive } from "../effects/session_archive.ts";
import { createTerminalCall, type TerminalCallOptions } from "../effects/terminal_call.ts";
import { createToolCall, createToolVerify, type ToolCall } from "../effects/tool_call.ts";
import { Admission } from "../model/admission.ts";
import type { Connections } from "../mcp/connections.ts";
import type { GuardedClient } from "../net/guarded_client.ts";
import type { HostPerformers, HostServices } from "../host_services.ts";
import { builtinTools } from "../tools/builtin.ts";
import { type CommandWorkOptions, createCommandWork } from "../tasks/command_work.ts";
import type { ToolBlobs } from "../tools/tool.ts";
import { createHostMcpCall } from "./host_mcp_call.ts";
import type { HostModels } from "./host_models.ts";
import { SessionPlaces } from "./session_places.ts";

/** What a host gives to commands. */
export type HostCommands =
  & Omit<TerminalCallOptions, "redactor" | "seams">
  & Pick<CommandReviewOptions, "ownersHome" | "review">
  & Pick<CommandWorkOptions, "logs">;

/** What a host gives to authored tools. */
export type HostAuthored = Omit<AuthoredCallOptions, "redactor" | "seams" | "folderOf">;

/** What a host reaches the outside with. */
export interface HostReach {
  readonly connections: Connections;
  readonly commands: HostCommands;
  /** The one way out by HTTP. */
  readonly http: Pick<GuardedClient, "fetch">;
  readonly authored?: HostAuthored;
  /** Who is asked besides scripts. */
  readonly models?: Pick<HostModels, "open">;
  readonly pins?: ToolReview;
  /** What sessions may read of the past; by default themselves. */
  readonly history?: HistoryScope;
}

/** Makes the performers of a host. */
export function createHostPerformers(
  services: HostServices,
  { connections, commands, http, authored, models, pins, history }: HostReach,
): HostPerformers {
  const places = new SessionPlaces(services, models);
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
    traceOf: (root) => conversations.traceOf(root),
    blobs: blobsOf(services),
    redactor,
    rawArguments,
    hasResult: (root, digest) => conversations.hasResult(root, digest),
    seams,
    fetch: http.fetch,
    schedules: (root, key) => services.schedules.of(root, key),
    tasks: services.tasks,
    sessionsOf: archives(services, history),
    principalOf: (root) => places.known(root).principal,
    mcp: createHostMcpCall(services, connections),
    agents: services.agents,
    program: createProgramCall({ programOf: (name) => services.programs.find(name), seams }),
    ...authored === undefined ? {} : { authored: authoredCall(services, places, authored) },
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
    "task.run": createTaskRun({
      "terminal.exec": createCommandWork({
        ...commands,
        redactor,
        seams,
        workspaceOf: (root) => places.openWorkspace(root),
      }),
    }),
    "command.review": afterHome(places, conversations, reviewer(services, places, commands)),
    ...modelPerformers(services, places),
  };
}

/** What asks models. */
function modelPerformers(
  { conversations, catalogOf, rawArguments, redactor, programs, seams }: HostServices,
  places: SessionPlaces,
): Pick<HostPerformers, "model.generate" | "model.sample"> {
  const admission = new Admission(seams.clock);
  return {
    "model.sample": createModelSample({
      admission,
      agentOf: async (root) => {
        const place = await places.open(root);
        return "code" in place ? undefined : place.agent;
      },
      providerOf: (name, root, model) => places.providerOf(name, root, model),
      redactor,
      seams,
    }),
    "model.generate": createModelGenerate({
      admission,
      providerOf: (name, root, model) => places.providerOf(name, root, model),
      transcript: (root, intent) => conversations.transcript(root, intent),
      exposureOf: (root) => conversations.exposureOf(root),
      droppedOf: (root) => conversations.droppedOf(root),
      catalogOf,
      redactor,
      rawArguments,
      prepare: createRoundPrepare({ programOf: (name) => programs.find(name), redactor, seams }),
      seams,
    }),
  };
}

/** What runs the tools of agents' folders. */
function authoredCall({ redactor, seams }: HostServices, places: SessionPlaces, authored: HostAuthored) {
  const folderOf = (root: RootAddress) => {
    const { agent } = places.known(root).home;
    return agent.kind === "folder" ? agent.path : undefined;
  };
  return createAuthoredCall({ ...authored, folderOf, redactor, seams });
}

/** What each call may read of the past. */
function archives({ journal, seams: { clock } }: HostServices, history: HostReach["history"]) {
  const isOperators = history === "operator";
  return ({ root, request, note = () => {} }: ToolCall) =>
    createSessionArchive({ journal, clock, root, isOperators, ordinal: request.args.invocation, note });
}

function reviewer(
  { redactor, rawArguments, seams }: HostServices,
  places: SessionPlaces,
  commands: HostCommands,
) {
  const workspaceOf = (root: RootAddress) => places.workspaceOf(root);
  return createCommandReview({ ...commands, workspaceOf, redactor, rawArguments, seams });
}

/** Opens the session's home and reads its journal before its tool is called: the tool's own look-ups are synchronous. */
function afterHome<C extends ToolCall | Performance<"command.review">>(
  places: SessionPlaces,
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
