/** What sources offer, sifted: names and schemas checked, collisions refused, implementations put to their definitions. */
import type { AgentDefinition } from "../schemas/agent.ts";
import type { CatalogSource } from "../schemas/catalog.ts";
import { type Failure, failure } from "../schemas/failure.ts";
import { schemaProblem } from "../schemas/json_schema.ts";
import { describeProvenance } from "../schemas/provenance.ts";
import type { ToolDefinition } from "../schemas/tool.ts";
import { canonicalName, compare, plainName, refuseName } from "./naming.ts";

/** One tool as its source offers it. */
export interface Offer {
  readonly source: CatalogSource;
  readonly tool: ToolDefinition;
  readonly canonical: string;
  /** The source that defines the tool, if this offer is another implementation of it. */
  readonly definedBy?: CatalogSource;
}

/** A tool of an MCP server that was left out; the server's others are kept (B83, B85). */
export interface DroppedTool {
  readonly server: string;
  readonly tool: string;
  readonly reason: string;
}

/** What is left after sifting. */
export interface SiftedOffers {
  readonly dropped: readonly DroppedTool[];
  /** Offers that define a tool, in the order of the sources. */
  readonly definitions: readonly Offer[];
  /** Offers of other implementations, by the full name of what they implement. */
  readonly alternatives: ReadonlyMap<string, readonly Offer[]>;
  readonly refusal: Failure | undefined;
}

/** Tools that belong to the runtime itself: an agent picks them, and can only make them stricter (DM-3). */
export function isBuiltIn(source: CatalogSource): boolean {
  return source.kind === "troupe" || source.kind === "runtime";
}

/** True if the tool is one of the runtime's own, whoever carries it out: what is said of it can only be made stricter. */
export function isOwnTool({ definedBy, source }: Offer): boolean {
  return isBuiltIn(definedBy ?? source);
}

/** Sifts what sources offer. Whatever is wrong with an MCP server's tool loses that tool; with any other, the catalog. */
export function siftOffers(sources: readonly CatalogSource[]): SiftedOffers {
  const dropped: DroppedTool[] = [];
  const definitions: Offer[] = [];
  const alternatives = new Map<string, Offer[]>();
  let refusal: Failure | undefined;
  for (const source of sources) {
    for (const tool of source.tools) {
      const refused = refuseName(source, tool.name);
      // A schema that cannot be used loses a server's tool, and no other: so no other's is looked at.
      const problem = source.kind === "mcp" ? schemaProblem(tool.inputSchema) : undefined;
      const reason = refused?.message ?? problem;
      const isOut = reason !== undefined;
      const offer = { source, tool, canonical: canonicalName(source, tool.name) };
      if (isOut && source.kind !== "mcp") refusal ??= refused;
      else if (isOut) {
        dropped.push({ server: source.server ?? "", tool: tool.name.slice(0, 128), reason: reason ?? "" });
      } else if (source.role !== "implementations") definitions.push(offer);
      else alternatives.set(offer.canonical, [...alternatives.get(offer.canonical) ?? [], offer]);
    }
  }
  refusal ??= findCollision(definitions) ?? findOrphan(definitions, alternatives);
  return { dropped, definitions, alternatives, refusal };
}

/** Both full names and names for models must be unique: nobody may pose as another's tool, and nobody wins silently. */
function findCollision(offers: readonly Offer[]): Failure | undefined {
  const seen = new Map<string, Offer>();
  for (const offer of offers) {
    for (const name of new Set([offer.canonical, plainName(offer.source, offer.tool.name)])) {
      const other = seen.get(name);
      if (other !== undefined && other !== offer) {
        const both = [other, offer].map((one) => describeProvenance(one.source.provenance)).join(" and ");
        const text = `Two tools are called "${name}": from ${both}; rename one of them`;
        return failure("tool_name_collision", text);
      }
      seen.set(name, offer);
    }
  }
  return undefined;
}

/** An implementation of what nobody defines is a mistake of who offers it. */
function findOrphan(
  definitions: readonly Offer[],
  alternatives: ReadonlyMap<string, readonly Offer[]>,
): Failure | undefined {
  const known = new Set(definitions.map(({ canonical }) => canonical));
  for (const [name, [first]] of alternatives) {
    if (known.has(name) || first === undefined) continue;
    const from = describeProvenance(first.source.provenance);
    const text =
      `"${name}" from ${from} implements a tool that nobody defines: offer it as a tool of its own`;
    return failure("tool_unknown", text);
  }
  return undefined;
}

/** Longest list of names in a failure's message. */
const namesShownMax = 40;

/** Names of tools that an agent's definition mentions, and where. */
interface Mention {
  readonly name: string;
  readonly where: string;
  /** True if a tool of an MCP server may be meant that is not there yet (AR-2). */
  readonly mayCome: boolean;
}

/** A name in agent.yaml that means nothing is a mistake; only tools of MCP servers may come later (AR-2, DM-4). */
export function findUnknownName(agent: AgentDefinition, definitions: readonly Offer[]): Failure | undefined {
  const known = new Set(definitions.map((offer) => offer.canonical));
  const unknown = mentionsOf(agent).find(({ name, mayCome }) =>
    !known.has(name) && !(mayCome && name.startsWith("mcp."))
  );
  if (unknown === undefined) return undefined;
  const names = [...known].filter((name) => !name.startsWith("mcp.")).sort(compare);
  const more = names.length > namesShownMax ? `, and ${names.length - namesShownMax} more` : "";
  const list = names.slice(0, namesShownMax).join(", ") + more;
  const { name, where } = unknown;
  const text = `Agent "${agent.name}" names the tool "${name}"${where}, which does not exist; there are: ${
    list || "none"
  }`;
  return failure("tool_unknown", text);
}

function mentionsOf({ tools, overrides, implementations, profiles }: AgentDefinition): readonly Mention[] {
  const listed = tools.map((name) => ({ name, where: "", mayCome: false }));
  const overridden = Object.keys(overrides).map((name) => ({ name, where: "", mayCome: true }));
  const bound = Object.keys(implementations ?? {})
    .map((name) => ({ name, where: " in implementations", mayCome: true }));
  const allowed = Object.entries(profiles ?? {}).flatMap(([key, { allowed_tool_names: names = [] }]) =>
    names.filter((name) => !name.includes("*"))
      .map((name) => ({ name, where: ` in the profile "${key}"`, mayCome: true }))
  );
  return [...listed, ...overridden, ...bound, ...allowed];
}
