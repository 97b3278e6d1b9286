/** Builders for tests of tools: entries, catalogs, blobs in memory, and what a handler is given. */
import { approvalScope } from "../../actors/policy/approval_scope.ts";
import { CatalogEntry, ResolvedCatalog } from "../../schemas/catalog.ts";
import type { Grant } from "../../schemas/grant.ts";
import { canonicalJson, type Json } from "../../schemas/json.ts";
import type { PermissionMode } from "../../schemas/mode.ts";
import { localOperator } from "../../schemas/principal.ts";
import type { ToolDefinition, ToolResultEnvelope } from "../../schemas/tool.ts";
import type { ToolBlobs, ToolUseContext } from "../../src/tools/tool.ts";
import { openWorkspace, type Workspace } from "../../src/tools/workspace.ts";
import { createWorld, digestNow } from "./world.ts";

/** An entry of a built-in tool; `changes` shows the one fact that matters. */
export function entryFor(definition: ToolDefinition, changes: Partial<CatalogEntry> = {}): CatalogEntry {
  return CatalogEntry.parse({
    sourceKind: "runtime",
    canonicalName: definition.name,
    providerName: definition.name,
    definition,
    provenance: { source: "runtime", origin: "built in", trust: "trusted_local" },
    coreRevision: "core-1",
    adapter: "builtin",
    binding: "",
    enabled: true,
    ...changes,
  });
}

/** An entry with the hash that its catalog's sealing would give it. */
export function sealedEntry({ hash: _, ...entry }: CatalogEntry): CatalogEntry {
  return { ...entry, hash: digestNow(new TextEncoder().encode(canonicalJson(entry as unknown as Json))) };
}

/** What decides how much a grant is worth besides its rule. */
export interface GrantCircumstances {
  readonly capabilities?: readonly string[];
  readonly mode?: PermissionMode;
  readonly at?: number;
  readonly epoch?: number;
}

/** A person's answer for the whole session about calls of an entry, given at 1,000 in the first runtime. */
export function grantFor(entry: CatalogEntry, rule: string, given: GrantCircumstances = {}): Grant {
  const { capabilities = [], mode = "default", at = 1_000, epoch = 1 } = given;
  const { canonicalName: subject, hash, coreRevision } = entry;
  const scope = approvalScope({ rule, subject, entry: hash, coreRevision, capabilities, mode });
  if (scope === null) throw new Error(`Nothing can be allowed for a whole session by "${rule}"`);
  return { scope, by: localOperator, at, epoch };
}

/** A catalog of these entries. */
export function catalogWith(...entries: readonly CatalogEntry[]): ResolvedCatalog {
  return ResolvedCatalog.parse({ epoch: 1, coreRevision: "core-1", entries });
}

/** Blobs in memory. */
export function createBlobs(): ToolBlobs & { readonly kept: Map<string, Uint8Array> } {
  const kept = new Map<string, Uint8Array>();
  return {
    kept,
    put: (bytes, mediaType, name) => {
      const digest = digestNow(bytes);
      kept.set(digest, bytes);
      return Promise.resolve({ name, mediaType, bytes: bytes.length, digest });
    },
    get: (digest) => Promise.resolve(kept.get(digest)),
  };
}

/** A real folder with these files, for the time of `test`. A name that ends in `/` is a folder. */
export async function withFolder(
  files: { readonly [path: string]: string | Uint8Array },
  test: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "troupe-" });
  try {
    for (const [path, content] of Object.entries(files)) {
      const at = `${folder}/${path}`;
      await Deno.mkdir(path.endsWith("/") ? at : at.slice(0, at.lastIndexOf("/")), { recursive: true });
      if (typeof content !== "string") await Deno.writeFile(at, content);
      else if (!path.endsWith("/")) await Deno.writeTextFile(at, content);
    }
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The workspace at a folder. */
export async function workspaceAt(folder: string): Promise<Workspace> {
  const opened = await openWorkspace(folder);
  if (!opened.ok) throw new Error(opened.failure.message);
  return opened.value;
}

function noSchedules(): Promise<never> {
  return Promise.reject(new Error("a test of a tool without schedules may not ask for them"));
}

/** What a handler is given in a workspace. */
export function useIn(cwd: Workspace, changes: Partial<ToolUseContext> = {}): ToolUseContext {
  return {
    tools: new Map(),
    permission_context: { mode: "default", capabilities: ["fs.read"], workspaces: [cwd] },
    mcp_clients: [],
    messages: () => Promise.resolve([]),
    app_state: {},
    update: () => undefined,
    notifications: { push: () => {} },
    cwd,
    blobs: createBlobs(),
    results: { has: () => Promise.resolve(false) },
    signal: new AbortController().signal,
    deadlineAtMs: Number.MAX_SAFE_INTEGER,
    idempotencyKey: "session/ses_1#1.0",
    catalog: catalogWith(),
    clock: createWorld().seams.clock,
    fetch: () => Promise.reject(new Error("no test that reaches nothing may ask")),
    schedules: { create: noSchedules, list: noSchedules, remove: noSchedules },
    ...changes,
  };
}

/** The text of a result of one piece, or the code of its refusal. */
export function textIn(envelope: ToolResultEnvelope): string {
  const piece = envelope.content[0];
  if (piece?.type === "text") return piece.text;
  return piece?.type === "error" ? piece.failure.code : JSON.stringify(piece?.value);
}
