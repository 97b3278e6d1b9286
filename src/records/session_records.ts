/** The records of a session, read off its journal and its sealed catalogs. */
import type { Entry } from "../../schemas/entry.ts";
import { ResolvedCatalog } from "../../schemas/catalog.ts";
import type { JsonObject } from "../../schemas/json.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { InvocationOutcome } from "../../schemas/invocation.ts";
import {
  type BindingRecord,
  type InvocationRecord,
  type InvocationStatus,
  type McpSessionRecord,
  ToolRecords,
} from "../../schemas/record.ts";
import { peekText } from "../peek.ts";
import type { Seams } from "../seams.ts";
import { boundTools, type Freeze } from "./bound_tools.ts";
import { InvocationFold } from "./invocation_fold.ts";
import type { InvocationRow } from "./invocation_row.ts";
import { bindingSession } from "./mcp_sessions.ts";
import { invocationId, unnamedInstallation } from "./record_id.ts";

/** Where records are read from. */
export interface RecordsRequest {
  readonly session: RootAddress;
  readonly pages: AsyncIterable<readonly Entry[]>;
  readonly readBlob: (digest: string) => Promise<Uint8Array>;
  readonly digest: Seams["digest"];
  /** The sessions with its servers: its bindings show them, and its calls where they went. */
  readonly mcpSessions?: readonly McpSessionRecord[];
}

/** What everybody is told of an outcome (design.md section 5). */
const statuses: { readonly [O in InvocationOutcome]: InvocationStatus } = {
  succeeded: "succeeded",
  completed_with_error: "failed",
  failed: "failed",
  denied: "failed",
  invalid: "failed",
  not_found: "failed",
  timed_out: "failed",
  canceled: "canceled",
  unknown: "failed",
};

/** Reads the records of a session. Every one is parsed by its schema, so that none leaves that is not what it says. */
export async function readRecords(request: RecordsRequest): Promise<ToolRecords> {
  const { session, pages, digest } = request;
  const fold = new InvocationFold();
  const freezes = new Map<string, string>();
  let installation = unnamedInstallation;
  for await (const page of pages) {
    for (const entry of page) {
      fold.take(entry);
      if (entry.kind === "created") {
        installation = peekText(entry.body, "input", "installation") || unnamedInstallation;
      }
      if (entry.kind === "note" && entry.type === "tools.bound") {
        freezes.set(`${session}/${peekText(entry.body, "execution")}`, peekText(entry.body, "catalog"));
      }
    }
  }
  const found = new Found();
  const { mcpSessions = [] } = request;
  for (const [execution, hash] of freezes) {
    const catalog = ResolvedCatalog.parse(JSON.parse(new TextDecoder().decode(await request.readBlob(hash))));
    await found.take({
      installation,
      execution,
      hash,
      catalog,
      digest,
      sessionOf: ({ binding, definition }) => bindingSession(mcpSessions, { binding, tool: definition.name }),
    });
  }
  for (const row of fold.rows) await found.call(row, request);
  return ToolRecords.parse(found.records());
}

/** Where a call of a server by HTTP went (CM-76). */
function reachedBy(tool: string, sessions: readonly McpSessionRecord[]): JsonObject {
  const [, server, name = ""] = /^mcp\.([^.]+)\.(.+)$/.exec(tool) ?? [];
  const reached = sessions.find(({ connection }) => connection.startsWith(`connection/${server}@`));
  const url = reached?.server_url ?? null;
  return url === null ? {} : { mcp_tool: name, server_url: url };
}

/** Records by their ids: what several turns froze alike is one record. */
class Found {
  readonly #sources = new Map<string, ToolRecords["sources"][number]>();
  readonly #definitions = new Map<string, ToolRecords["definitions"][number]>();
  readonly #implementations = new Map<string, ToolRecords["implementations"][number]>();
  readonly #bindings = new Map<string, BindingRecord>();
  /** Bindings by execution and name of their tool. */
  readonly #byTool = new Map<string, BindingRecord>();
  readonly #invocations: InvocationRecord[] = [];

  async take(freeze: Freeze): Promise<void> {
    for (const { sources, definition, implementations, binding } of await boundTools(freeze)) {
      for (const one of sources) this.#sources.set(one.id, one);
      this.#definitions.set(definition.id, definition);
      for (const one of implementations) this.#implementations.set(one.id, one);
      if (binding === undefined) continue;
      this.#bindings.set(binding.id, binding);
      this.#byTool.set(`${freeze.execution} ${definition.toolName}`, binding);
    }
  }

  /** A call of what the turn was not bound to is none of a tool: it has no record (CM-31). */
  async call(
    row: InvocationRow,
    { session, digest, mcpSessions = [] }: Pick<RecordsRequest, "session" | "digest" | "mcpSessions">,
  ): Promise<void> {
    const execution = `${session}/turn/${row.turn}`;
    const binding = this.#byTool.get(`${execution} ${row.tool}`);
    if (binding === undefined) return;
    const isRunning = row.outcome === "running" || row.outcome === "waiting";
    const outcome = row.outcome === "running" || row.outcome === "waiting" ? null : row.outcome;
    this.#invocations.push({
      id: await invocationId(digest, session, row.intents[0] ?? `turn/${row.turn}/${row.ordinal}`),
      installation: binding.installation,
      binding: binding.id,
      definition: binding.definition,
      implementation: binding.implementation,
      execution,
      node: `turn/${row.turn}/${row.ordinal}`,
      status: outcome === null ? "running" : statuses[outcome],
      outcome,
      request: { tool_name: row.tool, arguments: row.arguments },
      response: row.response,
      error: (row.error ?? {}) as JsonObject,
      metadata: {
        effect: row.effect,
        tries: row.attempts,
        decisions: [...row.decisions],
        ...reachedBy(row.tool, mcpSessions),
      },
      attempt: row.number,
      ...(row.key === "" ? {} : { key: row.key }),
      startedAt: row.proposedAt,
      finishedAt: isRunning ? null : row.settledAt ?? row.proposedAt,
    });
  }

  records() {
    return {
      sources: [...this.#sources.values()],
      definitions: [...this.#definitions.values()],
      implementations: [...this.#implementations.values()],
      bindings: [...this.#bindings.values()],
      invocations: this.#invocations,
    };
  }
}
