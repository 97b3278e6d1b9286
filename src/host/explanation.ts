/** Why a call would be allowed, asked about or denied: by the functions that judge calls, before anything is started. */
import { needsApproval, newborn, obstacle } from "../../actors/connection_rules.ts";
import { validate } from "../../actors/invocation_rules.ts";
import { nameDenial } from "../../actors/judgement.ts";
import { entryNamed, entryOf, internCatalog } from "../../actors/library.ts";
import { authorize, type Check, type CheckName, type Verdict } from "../../actors/policy/authorize.ts";
import { ruleKey } from "../../actors/policy/rule_key.ts";
import { checkScope } from "../../actors/policy/scope.ts";
import { resolveCatalog } from "../../actors/resolve.ts";
import type { CatalogEntry, CatalogSource, EntryRef } from "../../schemas/catalog.ts";
import type { HostPolicy } from "../../schemas/config.ts";
import type { Failure } from "../../schemas/failure.ts";
import { connectionAddress } from "../../schemas/ids.ts";
import type { Json, JsonObject } from "../../schemas/json.ts";
import type { McpDeclaration } from "../../schemas/manifest.ts";
import type { PermissionMode } from "../../schemas/mode.ts";
import { localOperator, principalText } from "../../schemas/principal.ts";
import type { ProfileKey } from "../../schemas/profile.ts";
import { canonicalBytes, throughJson } from "../canonical.ts";
import { readTools } from "../mcp/tool_list.ts";
import type { Seams } from "../seams.ts";
import { builtinSources, builtinTools } from "../tools/builtin.ts";
import type { LoadedAgent } from "./agent_folder.ts";

/** A call to be explained. */
export interface ExplainRequest {
  readonly agent: Pick<LoadedAgent, "definition" | "coreRevision">;
  /** By default the runtime's own sources alone. */
  readonly sources?: readonly CatalogSource[];
  readonly policy: HostPolicy;
  /** The servers of the agent, as this host declares them. */
  readonly declarations: readonly McpDeclaration[];
  readonly mode: PermissionMode;
  /** Profile of the session; without it that for people. */
  readonly profile?: ProfileKey | undefined;
  /** Full name, or the name that a model calls. */
  readonly tool: string;
  readonly arguments?: JsonObject | undefined;
  readonly digest: Seams["digest"];
}

/** What one step says. `open`: it cannot be told before the call. */
export interface Finding extends Omit<Check, "check" | "verdict"> {
  readonly check: CheckName | "connect";
  readonly verdict: Verdict | "open";
}

/** A call, step by step. */
export interface Explanation {
  readonly tool: string;
  /** What policy looked at; absent if the agent's catalog has no such tool. */
  readonly entry?: CatalogEntry;
  readonly mode: PermissionMode;
  /** The strictest of all steps. */
  readonly verdict: Verdict;
  readonly checks: readonly Finding[];
  /** What could not be looked at, one sentence each. */
  readonly notes: readonly string[];
}

/** A tool of a server, by its name. */
interface ServerTool {
  readonly declaration: McpDeclaration;
  readonly name: string;
}

const order: readonly (Verdict | "open")[] = ["open", "allow", "ask", "deny"];

/** Explains a call. A failure if there is no catalog, or nothing that the name could mean. */
export async function explainCall(
  request: ExplainRequest,
): Promise<{ readonly explanation: Explanation } | { readonly failure: Failure }> {
  const { agent, policy, declarations, sources = builtinSources, tool, mode } = request;
  const serverTool = serverToolOf(tool, declarations);
  const standIn = serverTool === undefined ? undefined : standInFor(serverTool);
  const resolution = resolveCatalog({
    coreRevision: agent.coreRevision,
    agent: agent.definition,
    policy,
    sources: standIn === undefined ? sources : [...sources, standIn],
    epoch: 1,
    scope: { profile: request.profile },
  });
  if ("failure" in resolution) return resolution;
  const catalog = throughJson(resolution.catalog);
  const hash = await request.digest(canonicalBytes(catalog as unknown as Json));
  internCatalog(hash, catalog);
  const canonical = serverTool === undefined ? tool : fullNameOf(serverTool);
  const entry = entryOf({ catalog: hash, name: canonical }) ?? entryNamed(hash, tool);
  const notes: string[] = [];
  const checks: Finding[] = serverTool === undefined ? [] : [connectFinding(serverTool.declaration)];
  if (entry === undefined) checks.push(missing(request, serverTool, resolution.dropped[0]?.reason));
  else {
    const isStandIn = serverTool !== undefined;
    if (entry.definition.review !== undefined) notes.push(reviewNote);
    if (isStandIn) notes.push(unaskedNote(serverTool));
    checks.push(...judge(request, entry, { ref: { catalog: hash, name: entry.canonicalName }, isStandIn }));
    if (checks.at(-1)?.check === "grant") notes.push("No session is looked at, so no earlier answer counts");
  }
  const verdict = strictestOf(checks);
  const found = entry === undefined ? {} : { entry };
  return { explanation: { tool: entry?.canonicalName ?? canonical, ...found, mode, verdict, checks, notes } };
}

const reviewNote =
  "The command is looked at when its call is made: what does harm is blocked, and what needs nobody passes unasked";

/** The tool of a declared server that a name means: `mcp.<server>.<tool>`, or `<server>__<tool>` for a model. */
function serverToolOf(tool: string, declarations: readonly McpDeclaration[]): ServerTool | undefined {
  const [, full, rest, short, other] = /^(?:mcp\.([^.]+)\.([^]+)|([^_]+)__([^]+))$/.exec(tool) ?? [];
  const declaration = declarations.find(({ server }) => server === (full ?? short));
  const name = rest ?? other;
  return declaration === undefined || name === undefined ? undefined : { declaration, name };
}

function fullNameOf({ declaration, name }: ServerTool): string {
  return `mcp.${declaration.server}.${name}`;
}

/** What the server's source would be, as far as the manifest says; undefined if the tool would be left out. */
function standInFor({ declaration, name }: ServerTool): CatalogSource | undefined {
  const connection = connectionAddress(declaration.server, "session/ses_explained");
  const { source } = readTools([{ name, inputSchema: { type: "object" } }], { declaration, connection });
  return source.tools.length === 0 ? undefined : source;
}

function unaskedNote({ declaration: { server } }: ServerTool): string {
  return `The server "${server}" is not started for this: whether it has the tool is not known, and its description ` +
    "and its fields can only raise the risk";
}

/** Where it stands what keeps a server from being started, if not in its manifest. */
const connectRules: { readonly [code: string]: string | undefined } = {
  capability_missing: "capabilities in agent.yaml",
  mcp_connect_denied: "policy.connect of the host",
};

/** The gate before the server is started (DM-24, DM-54). */
function connectFinding(declaration: McpDeclaration): Finding {
  const address = connectionAddress(declaration.server, "session/ses_explained");
  const context = newborn({ address, catalog: "catalog/ses_explained", declaration });
  const why = obstacle(context);
  if (why !== null) {
    const by = connectRules[why.code] ?? declaration.origin;
    return { check: "connect", verdict: "deny", by, why: why.message };
  }
  if (needsApproval(context)) {
    const told =
      "Nobody trusts this declaration in this workspace, so a person is asked before it is started";
    return { check: "connect", verdict: "ask", by: "trust", why: told };
  }
  return {
    check: "connect",
    verdict: "allow",
    by: "trust",
    why: "It is ours, or trusted in this workspace",
  };
}

/** Why the agent's catalog has no tool of the name. */
function missing(
  { tool, agent }: ExplainRequest,
  serverTool: ServerTool | undefined,
  dropped: string | undefined,
): Finding {
  const { check, verdict } = nameDenial;
  if (serverTool !== undefined) {
    const { declaration, name } = serverTool;
    const why = dropped ??
      `The manifest of "${declaration.server}" leaves "${name}" out, or it is no name of a tool`;
    return { check, verdict, by: declaration.origin, why };
  }
  const why = builtinTools.has(tool)
    ? `The agent "${agent.definition.name}" does not list it`
    : `The agent "${agent.definition.name}" has no tool and no server of this name`;
  return { check, verdict, by: "tools in agent.yaml", why };
}

interface JudgeOptions {
  readonly ref: EntryRef;
  /** True if the schema is not the tool's own. */
  readonly isStandIn: boolean;
}

/** What the invocation itself would find, in its order. */
function judge(request: ExplainRequest, entry: CatalogEntry, { ref, isStandIn }: JudgeOptions): Finding[] {
  const { arguments: given, agent, mode } = request;
  const schema = schemaFinding(given, { ref, isStandIn });
  if (schema.verdict === "deny") return [schema];
  const { capabilities } = agent.definition;
  const rule = ruleKey(entry, given ?? {});
  const scope = checkScope({
    scope: { principal: principalText(localOperator) },
    origin: "host",
    name: ref.name,
  });
  const asked = { entry, arguments: given ?? {}, capabilities, mode, grants: [], rule, at: 0, epoch: 0 };
  return [schema, scope.check, ...authorize(asked).checks];
}

function schemaFinding(given: JsonObject | undefined, { ref, isStandIn }: JudgeOptions): Finding {
  const open = (why: string): Finding => ({ check: "schema", verdict: "open", by: "", why });
  if (isStandIn) return open("Only the started server tells its schema");
  if (given === undefined) return open("No ARGS were given");
  const call = { ordinal: "call/0.0", callId: "explained", name: ref.name, origin: "host" as const };
  const refusal = validate({ ...call, entry: ref, arguments: given });
  if (refusal === null) return { check: "schema", verdict: "allow", by: "schema", why: "The arguments fit" };
  return { check: "schema", verdict: "deny", by: "schema", why: refusal.message };
}

function strictestOf(checks: readonly Finding[]): Verdict {
  const strictest = checks.reduce<Verdict | "open">(
    (most, { verdict }) => order.indexOf(verdict) > order.indexOf(most) ? verdict : most,
    "allow",
  );
  return strictest === "open" ? "allow" : strictest;
}
