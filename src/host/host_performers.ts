/** The performers that depend on the host: models by the agent's home, tools in the session's workspace. */
import { type RootAddress, sessionOf } from "../../schemas/ids.ts";
import { type CommandReviewOptions, createCommandReview } from "../effects/command_review.ts";
import type { Conversations } from "../effects/conversation.ts";
import type { Adapter } from "../effects/adapter.ts";
import { createModelGenerate } from "../effects/model_generate.ts";
import { createModelSample } from "../effects/model_sample.ts";
import { holdsKnownSecret, mayBeSecret } from "../effects/clean.ts";
import { createMcpCall } from "../effects/mcp_call.ts";
import { createMcpConnection, type ToolReview } from "../effects/mcp_connection.ts";
import type { Performance, PerformerResult } from "../effects/performer.ts";
import { createTaskRun } from "../effects/task_run.ts";
import { createProgramCall } from "../effects/program_call.ts";
import { createTerminalCall, type TerminalCallOptions } from "../effects/terminal_call.ts";
import { createToolCall, createToolVerify, type ToolCall } from "../effects/tool_call.ts";
import type { Connections } from "../mcp/connections.ts";
import type { GuardedClient } from "../net/guarded_client.ts";
import type { HostPerformers, HostServices } from "../host_services.ts";
import { builtinTools } from "../tools/builtin.ts";
import { type CommandWorkOptions, createCommandWork } from "../tasks/command_work.ts";
import type { ToolBlobs } from "../tools/tool.ts";
import { SessionPlaces } from "./session_places.ts";

/** What a host gives to commands. */
export type HostCommands =
  & Omit<TerminalCallOptions, "redactor" | "seams">
  & Pick<CommandReviewOptions, "ownersHome" | "review">
  & Pick<CommandWorkOptions, "logs">;

/** What a host reaches the outside with. */
export interface HostReach {
  readonly connections: Connections;
  readonly commands: HostCommands;
  /** The one way out by HTTP. */
  readonly http: Pick<GuardedClient, "fetch">;
  readonly pins?: ToolReview;
}

/** Makes the performers of a host. */
export function createHostPerformers(
  services: HostServices,
  { connections, commands, http, pins }: HostReach,
): HostPerformers {
  const places = new SessionPlaces(services);
  const { conversations, catalogOf, journal, rawArguments, redactor, seams } = services;
  const call = createToolCall({
    tools: builtinTools,
    catalogOf,
    workspaceOf: (root) => places.workspaceOf(root),
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
    principalOf: (root) => places.known(root).principal,
    mcp: mcpCallOf(services, connections),
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
    "task.run": createTaskRun({
      "terminal.exec": createCommandWork({
        ...commands,
        redactor,
        seams,
        workspaceOf: (root) => places.openWorkspace(root),
      }),
    }),
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

/** Makes the adapter of MCP tools. */
function mcpCallOf(services: HostServices, connections: Connections): Adapter {
  const { redactor, seams, suspended } = services;
  return createMcpCall({
    clientOf: (connection) => connections.clientOf(connection),
    fingerprintOf: (connection) => connections.fingerprintOf(connection),
    open: (connection) => services.tellConnection(connection, { type: "connection.open" }),
    refresh: (connection) => {
      const asked = services.tellConnection(connection, {
        type: "connection.refresh",
        rule: "call_refused",
      });
      asked.catch(() => {}); // Its answer is news for the next turn; a runtime that stops asks again when it starts.
    },
    subscriptions: {
      count: (connection) => connections.subscribed(sessionOf(connection) ?? connection),
      keep: async (connection, uri, isWanted) => {
        const type = isWanted ? "connection.subscribe" : "connection.unsubscribe";
        await services.tellConnection(connection, { type, uri });
      },
    },
    isSecret: (text) => mayBeSecret(redactor, text),
    holdsSecret: (text) => holdsKnownSecret(redactor, text),
    suspended,
    clock: seams.clock,
  });
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
