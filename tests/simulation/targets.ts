/** The tools and the model of a play as the runtime sees them: definitions, results, streams. */
import type { CatalogSource } from "../../schemas/catalog.ts";
import { retryableFailure } from "../../schemas/failure.ts";
import type { ModelEvent } from "../../schemas/model.ts";
import { ToolDefinition, type ToolResultEnvelope } from "../../schemas/tool.ts";
import type { PerformerResult } from "../../src/effects/performer.ts";
import { ModelError } from "../../src/model/provider.ts";
import type { OwnTasks } from "../../src/tasks/own_tasks.ts";
import type { Journal } from "../../src/journal/journal.ts";
import type { BuiltinTool, ToolBlobs } from "../../src/tools/tool.ts";
import { sourceOf } from "../support/stage.ts";
import { digestNow } from "../support/world.ts";
import { callUsage } from "./budgets.ts";
import { argumentsOf, ownBuiltin, ownSources } from "./own_tools.ts";
import type { ModelTurn, Tool } from "./scenario.ts";

/** A model's answer as a stream. Throws what its provider would. */
export function* eventsOf(
  { text, calls, error }: ModelTurn,
  { place, told }: { readonly place: string; readonly told: string },
): Iterable<ModelEvent> {
  if (error !== undefined) {
    throw new ModelError(error === "retryable" ? "model_unreachable" : "model_failed", "No answer");
  }
  yield { type: "text_delta", text };
  for (const [index, call] of calls.entries()) {
    yield {
      type: "tool_call_done",
      callId: `call_${place}_${index}`,
      name: call.tool,
      arguments: argumentsOf(call, told),
    };
  }
  yield { type: "usage", usage: callUsage };
  yield { type: "done", finishReason: "stop" };
}

/** A result of a call that certainly did nothing: the target was not reached (R5). */
export function refused(tool: Tool): PerformerResult {
  return {
    status: "failed",
    failure: retryableFailure("tool_unreachable", `The connection to "${tool.name}" was refused`),
  };
}

/** What a call gives to a target: its text, and a signal that says that nobody waits any more. */
export interface Given {
  readonly text: string;
  readonly signal: AbortSignal;
  readonly tasks: OwnTasks | undefined;
}

/** A tool as the runtime knows it. */
export function builtinOf(
  tool: Tool,
  start: (given: Given) => Promise<ToolResultEnvelope>,
): BuiltinTool {
  return {
    definition: definitionOf(tool),
    inputSchema: undefined as never,
    handler: (input, { signal, tasks }) =>
      start({ text: (input as { readonly text?: string }).text ?? "", signal, tasks }),
  };
}

/** A tool of the runtime itself, which says when it is begun. */
export function ownOf(tool: Tool, begin: () => void): BuiltinTool {
  const own = ownBuiltin(tool.name);
  return {
    ...own,
    handler: (input, use) => {
      begin();
      return own.handler(input, use);
    },
  };
}

/** Where results are kept that are too long for an entry. */
export function blobsOf(journal: Journal): ToolBlobs {
  return {
    put: (bytes, mediaType, name) => {
      const digest = digestNow(bytes);
      journal.writer.putBlob({ digest, bytes });
      return Promise.resolve({ name, mediaType, bytes: bytes.length, digest });
    },
    get: (digest) => journal.readBlob(digest),
  };
}

const definitions = new Map<string, ToolDefinition>();

/** The definition of a tool of the play. Parsed once: every life and every session asks for it. */
function definitionOf(tool: Tool, version = 1): ToolDefinition {
  const name = `${tool.name} ${version}`;
  const definition = definitions.get(name) ?? newDefinition(tool, version);
  definitions.set(name, definition);
  return definition;
}

function newDefinition(tool: Tool, version: number): ToolDefinition {
  return ToolDefinition.parse({
    name: tool.name,
    title: tool.name,
    description: "A tool of the play",
    version: String(version),
    inputSchema: {
      type: "object",
      properties: { text: { type: "string" } },
      additionalProperties: false,
    },
    riskLevel: "low",
    sideEffects: tool.sideEffects ?? true,
    resources: [],
    timeoutMs: tool.timeoutMs ?? 30_000,
    outputPolicy: {},
    effectClass: tool.effect,
    ...(tool.mechanism === undefined ? {} : { mechanism: tool.mechanism }),
    approvalPolicy: tool.approval ?? "auto",
    parallelSafe: tool.parallelSafe ?? false,
  });
}

/** Tools as sources of a catalog. Version 0 lacks one that the agent names, so that its catalog is refused. */
export function sourcesOfVersion(version: number, offered: readonly Tool[]): readonly CatalogSource[] {
  const own = offered.filter(({ isOwn }) => isOwn !== true);
  const given = version === 0 ? own.slice(1) : own;
  const source = sourceOf(given.map((tool) => ({ definition: definitionOf(tool, version) }) as BuiltinTool));
  return [source, ...ownSources(offered)];
}

/** Opens the task of a call; true once it is durable. */
export async function openTask({ text, tasks }: Given): Promise<boolean> {
  const opened = await tasks?.open({
    principal: tasks.principal,
    title: text,
    detached: false,
    silent: false,
    work: { kind: "terminal.exec", arguments: { text }, cwd: "/" },
  });
  return opened !== undefined && "id" in opened;
}
