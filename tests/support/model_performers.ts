/** Performers for tests in which models of a test's own are asked and its own tools are called; there are no servers. */
import { createDoorRedactor } from "../../src/effects/clean.ts";
import { createModelGenerate } from "../../src/effects/model_generate.ts";
import { createToolCall, createToolVerify } from "../../src/effects/tool_call.ts";
import { Admission } from "../../src/model/admission.ts";
import type { ModelProvider } from "../../src/model/provider.ts";
import type { HostPerformers, HostServices } from "../../src/host_services.ts";
import { noServers } from "./servers.ts";
import { type LedgerLine, toolFrom, type ToolSketch } from "./stage.ts";
import { createBlobs } from "./tools.ts";

/** What a test brings. */
export interface ModelScene {
  readonly tools: readonly ToolSketch[];
  readonly ledger: LedgerLine[];
  readonly providerOf: (model: string) => ModelProvider | undefined;
  /** True if providers are asked through their gates, as a host does. */
  readonly admits?: boolean;
}

/** Makes the performers of a runtime. */
export function performersWith(
  { tools, ledger, providerOf, admits = false }: ModelScene,
): (services: HostServices) => HostPerformers {
  const redactor = createDoorRedactor();
  const made = tools.map((sketch) => toolFrom(sketch, ledger));
  return ({ conversations, catalogOf, journal, rawArguments, seams }) => ({
    "model.generate": createModelGenerate({
      redactor,
      rawArguments,
      providerOf: (_name, _root, model) => providerOf(model),
      transcript: (root, intent) => conversations.transcript(root, intent),
      droppedOf: (root) => conversations.droppedOf(root),
      outputOf: (root) => conversations.outputOf(root),
      readBlob: (digest) => journal.readBlob(digest),
      catalogOf,
      seams,
      admission: admits ? new Admission(seams.clock) : undefined,
    }),
    ...noServers,
    "tool.call": createToolCall({
      redactor,
      rawArguments,
      tools: new Map(made.map((tool) => [tool.definition.name, tool])),
      catalogOf,
      workspaceOf: () => undefined as never,
      permissionsOf: () => ({ mode: "default", capabilities: [] }),
      messages: (root, intent) => conversations.transcript(root, intent),
      appState: () => ({}),
      blobs: createBlobs(),
      seams,
    }),
    "tool.verify": createToolVerify(),
  });
}
