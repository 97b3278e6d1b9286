/** Reads the tools of a server into a catalog source: each is judged alone, so that a bad one costs itself only (B83). */
import type { CatalogSource } from "../../schemas/catalog.ts";
import type { McpCapability, McpListing } from "../../schemas/effect.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { schemaProblem } from "../../schemas/json_schema.ts";
import { limits } from "../../schemas/limits.ts";
import type { McpDeclaration } from "../../schemas/manifest.ts";
import { urlWithoutQuery } from "../../schemas/server_session.ts";
import { type EffectClass, ToolDefinition, ToolName } from "../../schemas/tool.ts";
import { head } from "../tools/visible.ts";
import { type FeatureTool, featureTools } from "./feature_tools.ts";
import { isOffered } from "./glob.ts";
import { asJsonObject, isRecord } from "./json_bounds.ts";
import { paramHeadersOf } from "./param_headers.ts";
import { oneLine, plainText, withoutUnseen } from "./plain_text.ts";
import { seenSchema } from "./seen_schema.ts";

const titleCharactersMax = 200;
const originCharactersMax = 200;
const reasonCharactersMax = 500;

const unseen = "holds characters that nobody sees in a name or a value";

/** Who offers the tools, and what calls of them are bound to. */
export interface ToolListOptions {
  readonly declaration: McpDeclaration;
  readonly connection: RootAddress;
  /** What the server offers, tools and other things. */
  readonly capabilities?: readonly McpCapability[];
  /** True if calls repeat arguments in headers, as their tools ask for. */
  readonly repeatsArguments?: boolean;
}

/** The tools of a server, and those that were left out. */
export interface ToolList {
  readonly source: CatalogSource;
  readonly rejectedCount: number;
  /** The first of those that were left out. */
  readonly rejected: McpListing["rejected"];
  /** The first of those whose results cannot be checked, since what the server says of them cannot be used. */
  readonly unchecked: McpListing["rejected"];
}

/** A tool of a server that cannot be offered. */
class Rejection extends Error {
  override readonly name = "Rejection";
}

/**
 * The source that a server's list makes. A tool that the manifest's globs keep out is no rejection. Everything that
 * matters to safety comes from the declaration; what the server says of its tools, annotations included, decides
 * nothing (AR-10). Of two tools with one name the first counts; what the server offers besides tools comes last. Takes whatever JSON there is; never throws.
 */
export function readTools(raw: readonly unknown[], options: ToolListOptions): ToolList {
  const reader = new ToolReader(options);
  reader.read(raw);
  return reader.finish();
}

/** Reads a list piece by piece: a long one in one go would keep everything else waiting. */
export class ToolReader {
  readonly #options: ToolListOptions;
  readonly #tools: ToolDefinition[] = [];
  readonly #rejected: McpListing["rejected"] = [];
  readonly #unchecked: McpListing["rejected"] = [];
  readonly #names = new Set<string>();
  #count = 0;
  #rejectedCount = 0;

  constructor(options: ToolListOptions) {
    this.#options = options;
  }

  /** Takes the next tools of the list; gives the names of those that can be offered. */
  read(raw: readonly unknown[]): ReadonlySet<string> {
    const before = this.#tools.length;
    for (const one of raw) {
      this.#take(
        shownName(one, this.#count++),
        () => readTool(one, this.#names, this.#options),
      );
    }
    return new Set(this.#tools.slice(before).map(({ name }) => name));
  }

  /** What else the server offers, and all that was read. */
  finish(): ToolList {
    const { declaration, connection, capabilities = [] } = this.#options;
    for (const feature of featureTools(capabilities)) {
      this.#take(feature.name, () => readFeature(feature, this.#names, declaration));
    }
    return {
      source: sourceOf(declaration, connection, this.#tools),
      rejectedCount: this.#rejectedCount,
      rejected: this.#rejected,
      unchecked: this.#unchecked,
    };
  }

  #take(name: string, read: () => Told | undefined): void {
    try {
      const told = read();
      if (told === undefined) return;
      if (this.#tools.length >= limits.toolsPerCatalogMax) {
        throw new Rejection(`the server offers more than ${limits.toolsPerCatalogMax} tools`);
      }
      this.#tools.push(define(told, this.#options.declaration));
      if (told.unchecked === undefined || this.#unchecked.length >= limits.mcpRejectedNotedMax) return;
      this.#unchecked.push({ tool: name, reason: oneLine(told.unchecked, reasonCharactersMax) });
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
      this.#rejectedCount += 1;
      if (this.#rejected.length >= limits.mcpRejectedNotedMax) return;
      this.#rejected.push({ tool: name, reason: oneLine(error.message, reasonCharactersMax) });
    }
  }
}

function sourceOf(
  declaration: McpDeclaration,
  connection: RootAddress,
  tools: ToolDefinition[],
): CatalogSource {
  const { server, trust, origin, fingerprint } = declaration;
  return {
    kind: "mcp",
    provenance: {
      source: "mcp",
      origin: head(`${server}: ${origin}`, originCharactersMax),
      trust,
      fingerprint,
    },
    adapter: "mcp",
    server,
    binding: connection,
    remote: declaration.manifest.transport !== "stdio",
    transport: declaration.manifest.transport === "stdio"
      ? { kind: "stdio" }
      : { kind: "streamable_http", url: urlWithoutQuery(declaration.manifest.url) },
    tools,
  };
}

/** One tool; undefined if the manifest does not want it. Throws {@linkcode Rejection}. */
function readTool(
  one: unknown,
  names: Set<string>,
  { declaration, capabilities = [], repeatsArguments = false }: ToolListOptions,
): Told | undefined {
  if (!isRecord(one)) throw new Rejection("it is no object");
  const { name } = one;
  if (typeof name !== "string") throw new Rejection("it has no name");
  const isShort = name.length <= limits.toolNameCharactersMax;
  if (isShort && !isOffered(declaration.manifest.tools, name)) return undefined;
  if (!ToolName.safeParse(name).success) {
    throw new Rejection(
      `its name is not made of 1 to ${limits.toolNameCharactersMax} of letters, digits, _ . -`,
    );
  }
  // Also if the first was left out: a call of the name would reach whichever of the two the server likes.
  if (names.has(name)) throw new Rejection("another tool of this server has the same name");
  names.add(name);
  const headers = repeatsArguments ? paramHeadersOf(one["inputSchema"]) : {};
  if ("problem" in headers) throw new Rejection(`its inputSchema cannot be used: ${headers.problem}`);
  return {
    name,
    ...readTexts(one),
    inputSchema: readSchema(one["inputSchema"]),
    ...readResultSchema(one["outputSchema"]),
    ...(isTask(one, name, { declaration, capabilities }) ? { asTask: true } : {}),
  };
}

/** A server that does not say that it has tasks is asked for none, whatever it says of one tool. */
function isTask(
  { execution }: { readonly [key: string]: unknown },
  name: string,
  { declaration: { manifest }, capabilities }: Required<
    Pick<ToolListOptions, "declaration" | "capabilities">
  >,
): boolean {
  if (!capabilities.includes("tasks") || !isRecord(execution)) return false;
  const support = execution["taskSupport"];
  if (support === "required") return true;
  return support === "optional" && manifest.run_as_task !== undefined &&
    isOffered({ include: manifest.run_as_task, exclude: [] }, name);
}

/** What the server offers besides tools is governed as its tools are, and never takes the name of one. */
function readFeature(
  feature: FeatureTool,
  names: ReadonlySet<string>,
  { manifest }: McpDeclaration,
): Told | undefined {
  if (!isOffered(manifest.tools, feature.name)) return undefined;
  if (names.has(feature.name)) {
    throw new Rejection(
      `the server has a tool of this name itself, which counts; ${feature.mcpMethod} has none`,
    );
  }
  return feature;
}

/** What a server says of one tool, as far as it counts. */
interface Told {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly resultSchema?: JsonObject;
  readonly mcpMethod?: FeatureTool["mcpMethod"];
  readonly asTask?: true;
  /** Why its results are not checked, although the server says what they are. */
  readonly unchecked?: string;
}

function readTexts(one: { readonly [key: string]: unknown }): Pick<Told, "title" | "description"> {
  const { title } = one;
  const description = one["description"] ?? "";
  if (typeof description !== "string") throw new Rejection("its description is no text");
  return {
    title: typeof title === "string" ? oneLine(withoutUnseen(title), titleCharactersMax) : "",
    description: plainText(withoutUnseen(description), limits.mcpDescriptionCharactersMax),
  };
}

/** Every revision of the protocol asks for a schema whose `type` is `object`, so that nothing else is taken for one. */
function readSchema(schema: unknown): JsonObject {
  if (schema === undefined || schema === null) throw new Rejection("it has no inputSchema");
  const read = usableSchema(schema);
  if ("problem" in read) throw new Rejection(`its inputSchema ${read.problem}`);
  if (read.json["type"] !== "object") throw new Rejection('its inputSchema lacks "type": "object"');
  const seen = seenSchema(read.json);
  if (seen === undefined) throw new Rejection(`its inputSchema ${unseen}`);
  return seen;
}

/** A schema of results that cannot be used costs the check of the results, and not the tool. */
function readResultSchema(schema: unknown): Pick<Told, "resultSchema" | "unchecked"> {
  if (schema === undefined || schema === null) return {};
  const read = usableSchema(schema);
  if ("problem" in read) return { unchecked: `its outputSchema ${read.problem}` };
  const seen = seenSchema(read.json);
  return seen === undefined ? { unchecked: `its outputSchema ${unseen}` } : { resultSchema: seen };
}

function usableSchema(schema: unknown): { readonly json: JsonObject } | { readonly problem: string } {
  if (!isRecord(schema)) return { problem: "is no object" };
  const read = asJsonObject(schema);
  if ("problem" in read) return { problem: `cannot be kept: ${read.problem}` };
  const bytes = new TextEncoder().encode(JSON.stringify(read.json)).length;
  if (bytes > limits.mcpSchemaBytesMax) {
    return { problem: `has ${bytes} bytes, at most ${limits.mcpSchemaBytesMax} fit` };
  }
  const problem = schemaProblem(read.json);
  return problem === undefined ? read : { problem: `is not supported: ${problem}` };
}

function define({ unchecked: _, ...told }: Told, declaration: McpDeclaration): ToolDefinition {
  const { manifest, server } = declaration;
  const effectClass = effectClassOf(told.name, declaration);
  const { capability } = manifest;
  return {
    ...told,
    // What a server calls its version says nothing of one tool; the catalog's hash covers the whole definition.
    version: "mcp:dynamic",
    riskLevel: manifest.risk,
    sideEffects: effectClass !== "idempotent",
    resources: [{ kind: "mcp", scope: server }],
    timeoutMs: Math.max(1, Math.floor(manifest.timeout_seconds * 1_000)),
    outputPolicy: ToolDefinition.shape.outputPolicy.parse({}),
    effectClass,
    ...(effectClass === "conditional" ? { mechanism: "key" as const } : {}),
    ...(capability === undefined ? {} : { capability }),
    approvalPolicy: manifest.approval_policy,
    parallelSafe: manifest.supports_parallel_tool_calls,
  };
}

/** What the host or a built-in manifest assigns; a tool may be called `constructor`, so only own entries count. */
function effectClassOf(name: string, { effects }: McpDeclaration): EffectClass {
  if (Object.hasOwn(effects, name)) return effects[name] ?? "non_idempotent";
  return effects["*"] ?? "non_idempotent";
}

function shownName(one: unknown, index: number): string {
  const name = isRecord(one) ? one["name"] : undefined;
  return typeof name === "string" && name !== ""
    ? oneLine(name, limits.toolNameCharactersMax)
    : `(tool ${index + 1})`;
}
