/** What one turn froze, as records: sources, definitions, implementations, bindings (CM-48..54). */
import { sourceReference, toolKindOf } from "../../actors/governance.ts";
import type { CatalogEntry, Implementation, ResolvedCatalog } from "../../schemas/catalog.ts";
import type { Json, JsonObject } from "../../schemas/json.ts";
import type {
  BindingRecord,
  DefinitionRecord,
  ImplementationRecord,
  SourceRecord,
} from "../../schemas/record.ts";
import { canonicalBytes } from "../canonical.ts";
import type { Seams } from "../seams.ts";
import { recordId } from "./record_id.ts";

/** What a turn was bound to. */
export interface Freeze {
  readonly installation: string;
  /** `<address>/turn/<n>`. */
  readonly execution: string;
  /** Hash of the catalog. */
  readonly hash: string;
  readonly catalog: ResolvedCatalog;
  readonly digest: Seams["digest"];
  /** The session of an entry's binding, where it has one. */
  readonly sessionOf?: (entry: CatalogEntry) => JsonObject | undefined;
}

/** The records of one tool of a turn. */
export interface BoundTool {
  readonly sources: readonly SourceRecord[];
  readonly definition: DefinitionRecord;
  readonly implementations: readonly ImplementationRecord[];
  /** Absent for a tool that the turn may not call. */
  readonly binding?: BindingRecord;
}

/** The records of every tool of a turn, in the order of the catalog. */
export function boundTools(freeze: Freeze): Promise<readonly BoundTool[]> {
  return Promise.all(freeze.catalog.entries.map((entry) => boundTool(freeze, entry)));
}

/** The records of one tool. */
export async function boundTool(freeze: Omit<Freeze, "catalog">, entry: CatalogEntry): Promise<BoundTool> {
  const { installation, digest, execution, hash } = freeze;
  const { canonicalName: toolName, coreRevision: agentVersion, governance = "replaceable" } = entry;
  const { riskLevel, approvalPolicy, capability, parallelSafe } = entry.definition;
  const id = await recordId(digest, "def", [installation, agentVersion, toolName]);
  const definition: DefinitionRecord = {
    id,
    installation: installation as DefinitionRecord["installation"],
    agentVersion,
    toolName,
    toolKind: entry.toolKind ?? toolKindOf(entry.sourceKind, entry.definition),
    governance,
    policy: {
      risk: riskLevel,
      approval: approvalPolicy,
      enabled: entry.enabled,
      ...(capability === undefined ? {} : { capability }),
    },
  };
  const offered = await Promise.all(
    offeredBy(entry).map((one) => implementationOf(freeze, { entry, one, definition: id })),
  );
  const usual = offered.find(({ implementation }) => implementation.isDefault);
  const bound = offered.find(({ implementation }) => implementation.reference === boundRef(entry));
  const records = {
    sources: offered.map(({ source }) => source),
    definition,
    implementations: offered.map(({ implementation }) => implementation),
  };
  if (!entry.enabled || bound === undefined) return records;
  const session = freeze.sessionOf?.(entry);
  const binding: BindingRecord = {
    id: await recordId(digest, "bnd", [installation, execution, id]),
    installation: definition.installation,
    execution,
    node: null,
    agentVersion,
    definition: id,
    implementation: bound.implementation.id,
    reason: entry.bindingReason ?? "snapshot_default",
    payload: {
      agent_version: agentVersion,
      catalog: hash,
      entry: entry.hash ?? null,
      default: usual?.implementation.id ?? null,
      governance,
      execution_policy: { parallel_safe: parallelSafe },
      ...(session === undefined ? {} : { session }),
    },
  };
  return { ...records, binding };
}

function boundRef({ implementation, canonicalName }: CatalogEntry): string {
  return implementation ?? canonicalName;
}

/** All implementations of an entry: most have one, which is the entry's own definition. */
function offeredBy(entry: CatalogEntry): readonly Implementation[] {
  const { sourceKind, provenance, definition } = entry;
  return entry.candidates ?? [{ ref: boundRef(entry), sourceKind, provenance, isDefault: true, definition }];
}

interface Offered {
  readonly entry: CatalogEntry;
  readonly one: Implementation;
  readonly definition: string;
}

async function implementationOf(
  { installation: ins, digest }: Omit<Freeze, "catalog">,
  { entry, one, definition }: Offered,
): Promise<{ readonly source: SourceRecord; readonly implementation: ImplementationRecord }> {
  const installation = ins as SourceRecord["installation"];
  const { sourceKind: kind, ref, provenance, isDefault } = one;
  const reference = sourceReference({ ...entry, sourceKind: kind, provenance, implementation: ref });
  const source = { id: await recordId(digest, "src", [ins, kind, reference]), installation, kind, reference };
  const revision = await digest(canonicalBytes(one.definition as unknown as Json));
  const { inputSchema, resultSchema, effectClass: idempotency, version, timeoutMs } = one.definition;
  const implementation = {
    id: await recordId(digest, "imp", [definition, ref, revision]),
    installation,
    definition,
    source: source.id,
    reference: ref,
    revision,
    inputSchema,
    ...(resultSchema === undefined ? {} : { resultSchema }),
    streaming: false,
    idempotency,
    isDefault,
    // What is bound although it is not the default was approved, or the catalog would have been refused.
    isApproved: isDefault || ref === entry.implementation,
    metadata: { version, timeout_ms: timeoutMs, origin: provenance.origin, trust: provenance.trust },
  };
  return { source, implementation };
}
