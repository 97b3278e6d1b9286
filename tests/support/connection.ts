/** Builders for tests of connections to MCP servers: declarations, offers, and one connection with all that it says. */
import { internOffer } from "../../actors/library.ts";
import { connectionMachine } from "../../actors/connection.ts";
import type { CatalogSource } from "../../schemas/catalog.ts";
import type { McpListing } from "../../schemas/effect.ts";
import type { Failure } from "../../schemas/failure.ts";
import { connectionAddress, type RootAddress } from "../../schemas/ids.ts";
import { canonicalJson, type Json } from "../../schemas/json.ts";
import { McpDeclaration, McpManifest } from "../../schemas/manifest.ts";
import type { SessionServer } from "../../schemas/message.ts";
import type { Decision } from "../../schemas/question.ts";
import { localOperator } from "../../schemas/principal.ts";
import type { ToolDefinition } from "../../schemas/tool.ts";
import { type Run, sourceOf, startRun } from "./desk.ts";
import { digestNow } from "./world.ts";

/** The session of these tests, and its catalog. */
export const session: RootAddress = "session/ses_1";
export const catalogRoot: RootAddress = "catalog/ses_1";

function digestOf(value: unknown): string {
  return digestNow(new TextEncoder().encode(canonicalJson(value as Json)));
}

/** What differs in a declaration from one that may be started without a question. */
export interface DeclarationSketch extends Partial<Omit<McpDeclaration, "manifest">> {
  readonly manifest?: { readonly [field: string]: unknown };
}

/** The declaration of the server `docs`; its fingerprint follows its content, but not its gate. */
export function declarationOf({ manifest, ...changes }: DeclarationSketch = {}): McpDeclaration {
  const whole = {
    server: "docs",
    manifest: McpManifest.parse(
      manifest?.["transport"] === "streamable_http"
        ? manifest
        : { transport: "stdio", command: "docs-server", ...manifest },
    ),
    cwd: "/work",
    origin: "mcp/docs.yaml",
    trust: "third_party",
    preview: "docs-server",
    effects: {},
  };
  const fingerprint = digestOf({ ...whole });
  return McpDeclaration.parse({ ...whole, fingerprint, gate: "granted", ...changes });
}

/** A server of the session, by its id. */
export function serverOf(server: string, sketch: DeclarationSketch = {}): SessionServer {
  return {
    connection: connectionAddress(server, session),
    declaration: declarationOf({ server, origin: `mcp/${server}.yaml`, ...sketch }),
  };
}

/** What a server lists, with its offer where catalogs find it. */
export function listingOf(server: string, tools: readonly ToolDefinition[]): McpListing {
  const changes = { server, binding: connectionAddress(server, session) };
  const source: CatalogSource = sourceOf("mcp", tools, changes);
  const offer = digestOf(source);
  internOffer(offer, source);
  return { offer, tools: tools.length, rejectedCount: 0, rejected: [] };
}

/** What a server says when it is greeted. */
export const greeting: Json = {
  protocolVersion: "2025-06-18",
  server: { name: "docs", version: "1" },
  tookMs: 5,
};

/** A listing whose offer no library has: a connection only passes its hash on. */
export const listing: Json = { offer: `sha256:${"d".repeat(64)}`, tools: 2, rejectedCount: 1, rejected: [] };

/** What is told of a server that ended by itself, after it had answered so many calls. */
export function crash(served = 0): Json {
  const failure = { code: "mcp_connection_lost", message: "docs: it ended with code 7", retryable: true };
  return { type: "ended", failure, served };
}

/** How a server ended. */
export const end: Json = { code: 0, signal: null, stderr: "" };

/** One connection under test. */
export interface ConnectionRun extends Run {
  /** Tells it to open: by a command with this key, else by its catalog. */
  open(key?: string): void;
  close(key?: string): void;
  declare(declaration: McpDeclaration, key?: string): void;
  refresh(rule: string, key?: string): void;
  /** Answers the question that is open. */
  answer(decision: Decision): void;
  /** Its server ends by itself. */
  crash(served?: number): void;
  /** Brings it from wherever it starts to `ready`. */
  makeReady(): void;
  /** The replies so far: `<key> ready`, `<key> closed`, `<key> <code of the failure>`. */
  replies(): readonly string[];
  /** What the catalog was told so far: `<number of tools> tools`, or the failure's code. */
  offers(): readonly string[];
  /** Which start it is. */
  launch(): unknown;
}

/** Starts a connection as the runtime would. */
export function startConnection(declaration: McpDeclaration = declarationOf()): ConnectionRun {
  const address = connectionAddress(declaration.server, session);
  const run = startRun(connectionMachine, { address, catalog: catalogRoot, declaration });
  const tell = (message: { readonly type: string }, key: string | undefined) => {
    const command = { principal: "operator:local", key: key ?? "" };
    run.send(message, key === undefined ? { sender: catalogRoot } : { command });
  };
  const shown = `sha256:${"0".repeat(64)}`;
  // `run` itself, since its fields move on.
  return Object.assign(run, {
    open: (key?: string) => tell({ type: "connection.open" }, key),
    close: (key?: string) => tell({ type: "connection.close", reason: "enough" } as never, key),
    declare: (other: McpDeclaration, key?: string) =>
      tell({ type: "connection.declare", declaration: other } as never, key),
    refresh: (rule: string, key?: string) => tell({ type: "connection.refresh", rule } as never, key),
    answer: (decision: Decision) => run.settle("question.ask", { decision, by: { ...localOperator }, shown }),
    crash: (served?: number) => run.settle("mcp.watch", crash(served)),
    makeReady: () => {
      tell({ type: "connection.open" }, undefined);
      run.settle("mcp.connect", greeting);
      run.settle("mcp.list", listing);
    },
    replies: () => repliesOf(run),
    offers: () =>
      run.messages().flatMap(({ message }) => {
        const { report } = message as { readonly report?: { readonly tools: number; failure?: Failure } };
        return report === undefined ? [] : [report.failure?.code ?? `${report.tools} tools`];
      }),
    launch: () => run.context()["launch"],
  });
}

/** What commands were told: the key, and the failure's code, the result, or a turn's outcome. */
export function repliesOf(run: Run): readonly string[] {
  return run.desk.posts.flatMap((post) => {
    if (post.kind !== "reply") return [];
    const { failure, result, outcome } = post.value as {
      readonly failure?: Failure;
      readonly result?: string;
      readonly outcome?: string;
    };
    return [`${post.command.key} ${failure?.code ?? result ?? outcome}`];
  });
}
