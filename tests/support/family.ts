/** A stage whose agent begins children: its own model and one for children, each with a script. */
import assert from "node:assert/strict";
import type { Entry } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { Child } from "../../src/agents/agent_desk.ts";
import { builtinSources } from "../../src/tools/builtin.ts";
import type { TurnReport } from "../../src/turn_report.ts";
import { openStage, settled, type Stage, type StageOptions } from "./stage.ts";

/** The model of children. */
export const childModel = "scripted/child";

/** Names of the tools about children. */
export const childTools = [
  "subagent_spawn",
  "subagent_send",
  "subagent_wait",
  "subagent_close",
  "subagent_list",
  "delegate_task",
];

/** What a family is made of. */
export interface FamilyOptions extends StageOptions {
  readonly answers: readonly unknown[];
  /** Answers of every child. */
  readonly child?: readonly unknown[];
}

/** One call in a prepared answer. */
export function call(tool: string, given: { readonly [key: string]: unknown } = {}) {
  return { tool, arguments: given };
}

/** A call of `delegate_task` to a child with the model of children. */
export function delegate(goal: string, more: { readonly [key: string]: unknown } = {}) {
  return call("delegate_task", { goal, model: childModel, ...more });
}

/** Opens the stage. */
export function openFamily(
  { child = [{ text: "counted: 3" }], agent, ...options }: FamilyOptions,
): Promise<Stage> {
  const tools = [...childTools, ...(options.tools ?? []).map(({ name }) => name)];
  return openStage({
    sources: builtinSources.filter(({ kind }) => kind === "troupe"),
    scripts: { [childModel]: { answers: child } },
    ...options,
    agent: {
      name: "boss",
      tools,
      capabilities: ["agents.spawn:boss"],
      model_fallbacks: [childModel],
      ...agent,
    },
  });
}

/** Gives a prompt and waits for the end of its turn; time does not pass. */
export async function play(stage: Stage, session: RootAddress, text = "go"): Promise<TurnReport> {
  const { report } = await settled(stage.world, stage.runtime.prompt(session, text));
  return await settled(stage.world, report);
}

/** What the tools of a session were answered, by the order of their outcomes; results that are JSON are parsed. */
export async function results(stage: Stage, session: RootAddress): Promise<unknown[]> {
  const entries = await stage.entries(session);
  return entries.filter(({ kind, type }) => kind === "outcome" && type === "tool.call").map(resultIn);
}

function resultIn({ body }: Entry): unknown {
  const { value, failure } = body as {
    readonly value?: { readonly model: string };
    readonly failure?: { readonly code: string };
  };
  if (value === undefined) return failure?.code;
  try {
    return JSON.parse(value.model);
  } catch {
    return value.model;
  }
}

/** The first result, as a value with these fields. */
export async function firstResult(
  stage: Stage,
  session: RootAddress,
): Promise<{ readonly [key: string]: unknown }> {
  const [first] = await results(stage, session);
  assert.ok(typeof first === "object" && first !== null, `no result: ${JSON.stringify(first)}`);
  return first as { readonly [key: string]: unknown };
}

/** The children of a session, by their titles: in virtual time many are as old as each other. */
export async function children(stage: Stage, session: RootAddress): Promise<readonly Child[]> {
  const found = await settled(stage.world, stage.runtime.agents.list(session));
  return found.toSorted((left, right) => left.title < right.title ? -1 : 1);
}

/** The notices that the model of a session was given. */
export async function notices(stage: Stage, session: RootAddress): Promise<string[]> {
  const told = await settled(stage.world, stage.runtime.conversations.transcript(session, "1.0"));
  return told.flatMap(({ role, text }) => role === "user" && text.startsWith("[news") ? [text] : []);
}
