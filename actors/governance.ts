/** The pure rules of governance: the mode of a definition, the kind of a call, who carries it out (CM-7, CM-20..29). */
import type { AdapterKey, CatalogEntry, CatalogSource } from "../schemas/catalog.ts";
import { type Failure, failure } from "../schemas/failure.ts";
import type { BindingReason, GovernanceMode, ImplementationRef, ToolKind } from "../schemas/governance.ts";
import type { SourceKind } from "../schemas/provenance.ts";
import type { ToolDefinition } from "../schemas/tool.ts";
import { isReservedName } from "./naming.ts";

/** Every source kind has one runner: leave one out and this does not compile (CM-28, CM-29). */
const runners: { readonly [K in SourceKind]: AdapterKey } = {
  troupe: "builtin",
  runtime: "builtin",
  agent: "authored",
  program: "program",
  mcp: "mcp",
};

/** Who carries out the tools of a source: asked once, when a catalog is made; a call takes what its entry says (CM-30). */
export function runnerOf(kind: SourceKind): AdapterKey {
  return runners[kind];
}

/**
 * The mode of a definition, by the first rule that fits (CM-24): names of the runtime are `reserved`, and so is whatever
 * it executes itself; tools of the execution runtime are `whitelist_only`; all others are `replaceable`.
 */
export function governanceModeOf(kind: SourceKind, name: string): GovernanceMode {
  if (isReservedName(name) || kind === "troupe") return "reserved";
  return kind === "runtime" ? "whitelist_only" : "replaceable";
}

/** What a call of a tool is to the one who governs it. Nothing that a tool says of itself makes it harmless. */
export function toolKindOf(kind: SourceKind, { name, sideEffects }: ToolDefinition): ToolKind {
  if (kind === "troupe" && !isReservedName(name)) return "kernel_primitive";
  return sideEffects ? "effect_intent" : "agent_observation";
}

/** How an implementation is named. Unique for one definition, since no source offers one name twice. */
export function implementationRef(
  source: Pick<CatalogSource, "kind" | "server" | "provenance">,
  tool: Pick<ToolDefinition, "name" | "version">,
): ImplementationRef {
  const { kind, server, provenance } = source;
  const where = kind === "mcp" ? [server ?? ""] : kind === "program" ? [provenance.origin] : [];
  return [kind, ...where, `${tool.name}@${tool.version}`].join("/");
}

/** Where an implementation comes from, as its source record names it (CM-10). */
export function sourceReference(
  { sourceKind, coreRevision, implementation, provenance }: CatalogEntry,
): string {
  switch (sourceKind) {
    case "troupe":
      return "built_in";
    case "runtime":
      return "local";
    case "agent":
      return `agent:${coreRevision}`;
    case "program":
      return `program:${provenance.origin}`;
    case "mcp":
      return implementation ?? provenance.origin;
  }
}

/** One definition, and what it might be bound to. */
export interface Choice {
  readonly name: string;
  readonly mode: GovernanceMode;
  /** References of all that was offered, the default first. */
  readonly offered: readonly ImplementationRef[];
  /** What the agent asks for, if it asks. */
  readonly wanted: ImplementationRef | undefined;
  /** What the operator approves besides the default (CM-22). */
  readonly approved: readonly ImplementationRef[];
}

/** What is bound, and why; or why nothing may be. */
export type Chosen =
  | { readonly ref: ImplementationRef; readonly reason: BindingReason }
  | { readonly failure: Failure };

/** Chooses the implementation of one definition. A mode can only refuse: it never falls back on another one (CM-21..23). */
export function chooseImplementation({ name, mode, offered, wanted, approved }: Choice): Chosen {
  const usual = offered[0] ?? "";
  if (wanted === undefined) return { ref: usual, reason: "snapshot_default" };
  if (mode === "reserved" && wanted !== usual) {
    const text =
      `The tool "${name}" belongs to the runtime: it must use the reserved implementation "${usual}"`;
    return { failure: failure("implementation_reserved", text) };
  }
  if (mode === "whitelist_only" && wanted !== usual && !approved.includes(wanted)) {
    const text = `The tool "${name}" must use an approved implementation, and "${wanted}" is none: ` +
      `use "${usual}", or let the operator name it in policy.implementations`;
    return { failure: failure("implementation_not_approved", text) };
  }
  if (!offered.includes(wanted)) {
    const text = `The tool "${name}" has no implementation "${wanted}": offered are ${offered.join(", ")}`;
    return { failure: failure("implementation_unknown", text) };
  }
  return { ref: wanted, reason: wanted === usual ? "snapshot_default" : "explicit_override" };
}
