/** Tools of the runtime itself that are played: child agents, background tasks, schedules. */
import type { CatalogSource } from "../../schemas/catalog.ts";
import type { Json, JsonObject } from "../../schemas/json.ts";
import { builtinSources, builtinTools } from "../../src/tools/builtin.ts";
import type { BuiltinTool } from "../../src/tools/tool.ts";
import type { Call, Tool } from "./scenario.ts";

function own(...names: readonly string[]): readonly Tool[] {
  return names.map((name): Tool => {
    const { definition } = ownBuiltin(name);
    const { effectClass, mechanism, approvalPolicy, parallelSafe, sideEffects } = definition;
    return {
      name,
      effect: effectClass,
      ...(mechanism === undefined ? {} : { mechanism }),
      ...(approvalPolicy === "prompt" ? { approval: approvalPolicy } : {}),
      parallelSafe,
      sideEffects,
      isOwn: true,
    };
  });
}

/** A tool of the runtime as it is. */
export function ownBuiltin(name: string): BuiltinTool {
  const tool = builtinTools.get(name);
  if (tool === undefined) throw new Error(`The runtime has no tool "${name}"`);
  return tool;
}

/** Tools about child agents. */
export const familyTools = own(
  "subagent_spawn",
  "subagent_send",
  "subagent_wait",
  "subagent_close",
  "subagent_list",
  "delegate_task",
);

/** Tools about background tasks. */
export const taskTools = own("task_control", "task_status", "task_list");

/** The tool of schedules. */
export const scheduleTools = own("schedule_manage");

/** All of them. */
export const ownTools: readonly Tool[] = [...familyTools, ...taskTools, ...scheduleTools];

/** Capabilities that an agent of the name `play` needs for them, and for its servers. */
export const ownCapabilities = [
  "agents.spawn:play",
  "task.control",
  "schedule.manage",
  "mcp.call:shop",
  "mcp.call:mill",
];

/** What a catalog is offered of them. */
export function ownSources(offered: readonly Tool[]): readonly CatalogSource[] {
  const names = new Set(offered.filter(({ isOwn }) => isOwn).map(({ name }) => name));
  if (names.size === 0) return [];
  return builtinSources.filter(({ kind }) => kind === "troupe").map((source) => ({
    ...source,
    tools: source.tools.filter(({ name }) => names.has(name)),
  }));
}

const idOf = {
  ses: /\bses_[0-9A-HJKMNP-TV-Z]{26}/g,
  tsk: /\btsk_[0-9A-HJKMNP-TV-Z]{26}/g,
  sch: /\bsch_\w{26}/g,
};

/** The arguments of a call: ids that it stands for are those that the model was told of last. */
export function argumentsOf({ text, given }: Call, told: string): JsonObject {
  if (given === undefined) return text === undefined ? {} : { text };
  return Object.fromEntries(
    Object.entries(given).map(([name, value]): [string, Json] => {
      const kind = typeof value === "string" && value.startsWith("$") ? value.slice(1) : "";
      if (kind === "all") return [name, [...idsIn(told, "ses")]];
      return [name, isKind(kind) ? idsIn(told, kind).at(-1) ?? `${kind}_NONE` : value];
    }),
  );
}

function isKind(kind: string): kind is keyof typeof idOf {
  return Object.hasOwn(idOf, kind);
}

function idsIn(told: string, kind: keyof typeof idOf): readonly string[] {
  const found = [...new Set(told.match(idOf[kind]) ?? [])];
  return found.length === 0 ? [`${kind}_NONE`] : found.slice(-5);
}
