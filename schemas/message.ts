/** What roots may be told: the inputs of each kind of root, and the replies they give. */
import { z } from "zod";
import { AuditInput, AuditMessage } from "./access.ts";
import { AgentDefinition } from "./agent.ts";
import { Budget } from "./budget.ts";
import { CancelScope } from "./cancel.ts";
import { CatalogRef, CatalogSource } from "./catalog.ts";
import { CloseStrictness, Parentage, sessionAnswered } from "./child_agent.ts";
import { HostPolicy } from "./config.ts";
import { ResourceUri } from "./effect.ts";
import { Failure } from "./failure.ts";
import { Digest, InstallationId, RootAddress, type RootKind, ServerId } from "./ids.ts";
import { ImageRefs } from "./image.ts";
import { HostCall } from "./invocation.ts";
import { limits } from "./limits.ts";
import { McpDeclaration } from "./manifest.ts";
import { PermissionMode } from "./mode.ts";
import { Principal } from "./principal.ts";
import { ProgramName } from "./program.ts";
import { SessionScope } from "./profile.ts";
import { Json } from "./json.ts";
import { RefreshRule } from "./refresh.ts";
import { ScheduleInput } from "./schedule.ts";
import { Recovery } from "./recovery.ts";
import { ChildSpec, SupervisorPolicy } from "./supervision.ts";
import { TaskInput, taskLetters, TaskMessage } from "./task.ts";
import { TurnOutcome } from "./turn_outcome.ts";

export { TurnOutcome };

const text = z.string().min(1).max(limits.promptCharactersMax);

/** A server of a session, and the connection by which it is reached. */
export const SessionServer = z.strictObject({ connection: RootAddress, declaration: McpDeclaration });
/** A server of a session. */
export type SessionServer = z.infer<typeof SessionServer>;

/** The servers of one session, each once. */
export const SessionServers = z.array(SessionServer).max(limits.mcpServersPerSessionMax)
  .refine(
    (servers) => new Set(servers.map(({ connection }) => connection)).size === servers.length,
    "must name each server once",
  );

/** What became of one server when a catalog was made. */
export const ServerReport = z.strictObject({
  server: ServerId,
  tools: z.int().min(0),
  /** How many tools were left out; the journal of the connection names them. */
  rejected: z.int().min(0),
  failure: Failure.optional(),
});
/** What became of one server. */
export type ServerReport = z.infer<typeof ServerReport>;

/** What a root is told of one that it depends on: it crashed and goes on, or it is out of service. */
const childNews = [
  z.strictObject({ type: z.literal("child.restarted"), child: RootAddress }),
  z.strictObject({
    type: z.literal("child.quarantined"),
    child: RootAddress,
    failure: Failure,
    /** False if only this runtime keeps away from it: the next one tries again. */
    lasting: z.boolean(),
  }),
] as const;

/** Messages that a session takes. `session.answered` and `catalog.issued` are facts; the others ask. */
export const SessionMessage = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("session.prompt"),
    text,
    /** Each is a blob: the model is shown it, no machine is. */
    images: ImageRefs.exactOptional(),
    replyTo: RootAddress.optional(),
  }),
  /** Calls one tool under the session's gates, in a turn of its own (DM-12). */
  z.strictObject({ type: z.literal("session.call"), call: HostCall }),
  /** A program opens a call of its own tool in the turn that runs (CM-61). Answered at once, with the call or a refusal. */
  z.strictObject({ type: z.literal("session.invoke"), program: ProgramName, call: HostCall }),
  /** Answered once what was to be stopped has ended: see `CancelReport`. The turn, if no scope is said. */
  z.strictObject({
    type: z.literal("session.cancel"),
    reason: z.string().max(500),
    scope: CancelScope.exactOptional(),
    /** Which call of the turn that runs, for the scope `call`: `call/<step>.<i>`. */
    call: z.string().max(128).exactOptional(),
    /** Prompts that wait end too, whatever the scope: they may have been done in a part that is lost. */
    prompts: z.literal("all").exactOptional(),
  }),
  /** Lets a turn go on that waits since its model failed. Answered as its prompt is, once the turn has ended. */
  z.strictObject({ type: z.literal("session.resume") }),
  /** Answers for the whole session end: those that a principal gave, or all (DM-36). */
  z.strictObject({ type: z.literal("session.revoke"), principal: Principal.optional() }),
  z.strictObject({ type: z.literal("session.relay"), to: RootAddress, text }),
  sessionAnswered,
  /** Ends a child for good: taken from its own task only (CM-104). */
  z.strictObject({
    type: z.literal("session.close"),
    strictness: CloseStrictness,
    reason: z.string().max(500),
  }),
  /** All servers from the next turn on; a turn that runs keeps what it has (AR-42). */
  z.strictObject({ type: z.literal("session.servers"), servers: SessionServers }),
  z.strictObject({
    type: z.literal("catalog.issued"),
    catalog: CatalogRef,
    /** The renewal that this answers; 0 if it came by itself. */
    renewal: z.int().min(0),
    servers: z.array(ServerReport).max(limits.mcpServersPerSessionMax),
  }),
  /** What a server offered does not count any more: its tools are asked for again before the next turn (AR-15). */
  z.strictObject({ type: z.literal("catalog.stale"), server: ServerId, rule: RefreshRule }),
  /** A resource that the session is subscribed to changed, or may have: its next turn tells the model. */
  z.strictObject({ type: z.literal("resource.updated"), server: ServerId, uri: ResourceUri }),
  z.strictObject({
    type: z.literal("catalog.refused"),
    failure: Failure,
    renewal: z.int().min(0),
  }),
  ...taskLetters,
  ...childNews,
]);
/** A message that a session takes. */
export type SessionMessage = z.infer<typeof SessionMessage>;

/** Messages that a catalog takes. */
export const CatalogMessage = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("catalog.change"), sources: z.array(CatalogSource).max(256) }),
  /** Asks for a catalog with the tools of these servers; opens their connections. Answered in any case. */
  z.strictObject({
    type: z.literal("catalog.renew"),
    renewal: z.int().min(1),
    servers: z.array(z.strictObject({ server: ServerId, connection: RootAddress }))
      .max(limits.mcpServersPerSessionMax),
  }),
  /** What a connection has to offer: tools, or why there are none. `offer` names a blob that holds a source. */
  z.strictObject({ type: z.literal("connection.offered"), report: ServerReport, offer: Digest.nullable() }),
  /** What a connection offered does not count any more. */
  z.strictObject({ type: z.literal("connection.stale"), rule: RefreshRule }),
  ...childNews,
]);
/** A message that a catalog takes. */
export type CatalogMessage = z.infer<typeof CatalogMessage>;

/** Messages that a connection takes. `connection.open` is answered once the connection is ready or has failed. */
export const ConnectionMessage = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("connection.open") }),
  z.strictObject({
    type: z.literal("connection.close"),
    reason: z.string().max(500),
    /** How long calls in flight are waited for. Milliseconds. */
    drainMs: z.int().min(0).max(limits.mcpDrainMs).optional(),
  }),
  z.strictObject({ type: z.literal("connection.declare"), declaration: McpDeclaration }),
  /** The session has subscribed to a resource, or gave it up: later launches of the server ask for the same. */
  z.strictObject({ type: z.literal("connection.subscribe"), uri: ResourceUri }),
  z.strictObject({ type: z.literal("connection.unsubscribe"), uri: ResourceUri }),
  /**
   * Asks an open connection to list its tools again; nothing is started for it. If a person asks (`manual`), one that is
   * held back after failures is tried at once.
   */
  z.strictObject({ type: z.literal("connection.refresh"), rule: RefreshRule }),
]);
/** A message that a connection takes. */
export type ConnectionMessage = z.infer<typeof ConnectionMessage>;

/** Messages that a schedule takes. */
export const ScheduleMessage = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("schedule.delete") }),
  sessionAnswered,
]);
/** A message that a schedule takes. */
export type ScheduleMessage = z.infer<typeof ScheduleMessage>;

/** Messages that a supervisor takes. */
export const SupervisorMessage = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("child.add"), child: ChildSpec }),
  z.strictObject({ type: z.literal("child.remove"), child: RootAddress }),
  z.strictObject({ type: z.literal("child.crashed"), child: RootAddress, failure: Failure }),
  z.strictObject({ type: z.literal("child.exited"), child: RootAddress }),
  childNews[1],
]);
/** A message that a supervisor takes. */
export type SupervisorMessage = z.infer<typeof SupervisorMessage>;

/** Inputs with which each kind of root is created. */
export const rootInputs = {
  session: z.strictObject({
    address: RootAddress,
    agent: AgentDefinition,
    /** Where the agent's own files are: see `src/host/session_home.ts`. */
    home: z.string().max(16_384),
    catalog: RootAddress,
    principal: Principal,
    servers: SessionServers,
    mode: PermissionMode.default("default"),
    scope: SessionScope.optional(),
    /** The store that the session was begun in: records of one installation refer to no other's (CM-4). */
    installation: InstallationId.optional(),
    /** Besides that of its agent: the stricter one counts, field by field. */
    budget: Budget.optional(),
    /** How its turns go on after failures of the model. */
    recovery: Recovery.exactOptional(),
    /** Set for child agents. */
    parent: Parentage.exactOptional(),
  }),
  catalog: z.strictObject({
    address: RootAddress,
    coreRevision: z.string().max(100),
    agent: AgentDefinition,
    policy: HostPolicy,
    sources: z.array(CatalogSource).max(limits.sourcesPerCatalogMax),
    /** Names sources that come before these: see `SharedSources`. What earlier releases wrote has none. */
    shared: Digest.exactOptional(),
    subscriber: RootAddress,
    scope: SessionScope.optional(),
  }),
  connection: z.strictObject({
    address: RootAddress,
    /** The root that is told what the server offers. */
    catalog: RootAddress,
    declaration: McpDeclaration,
  }),
  schedule: ScheduleInput,
  supervisor: z.strictObject({ address: RootAddress, policy: SupervisorPolicy }),
  task: TaskInput,
  audit: AuditInput,
} as const;

/** Messages of each kind of root. */
export const rootMessages = {
  session: SessionMessage,
  catalog: CatalogMessage,
  connection: ConnectionMessage,
  schedule: ScheduleMessage,
  supervisor: SupervisorMessage,
  task: TaskMessage,
  audit: AuditMessage,
} as const;

/** Types of the messages that each kind of root takes: a stream with another one is a later release's (B128). */
export const messageTypes: { readonly [K in RootKind]: ReadonlySet<string> } = {
  session: typesOf(SessionMessage),
  catalog: typesOf(CatalogMessage),
  connection: typesOf(ConnectionMessage),
  schedule: typesOf(ScheduleMessage),
  supervisor: typesOf(SupervisorMessage),
  task: typesOf(TaskMessage),
  audit: typesOf(AuditMessage),
};

function typesOf(
  union: { readonly options: readonly { readonly shape: { readonly type: { readonly value: string } } }[] },
): ReadonlySet<string> {
  return new Set(union.options.map(({ shape }) => shape.type.value));
}

/** A command's identity: who gave it, and the key that makes a repeat harmless (K14). */
export const CommandRef = z.strictObject({
  principal: z.string().max(100),
  key: z.string().min(1).max(limits.commandKeyBytesMax),
});
/** A command's identity. */
export type CommandRef = z.infer<typeof CommandRef>;

/** What the kernel adds to every message before a machine gets it (K7). */
export interface Stamp {
  /** When the entry was written, in milliseconds since the epoch. */
  readonly at: number;
  /** The entry's position in the stream. */
  readonly seq: number;
  /** The runtime that wrote the entry: another number after every start. */
  readonly epoch: number;
  readonly command?: CommandRef | undefined;
  /** The root that sent it, if a root did. */
  readonly sender?: RootAddress | undefined;
}

/** What an actor hands to the kernel besides port requests: see `actors/outbox.ts`. */
export type Outgoing =
  | {
    readonly kind: "message";
    readonly to: RootAddress;
    readonly message: { readonly type: string } & Record<string, Json>;
  }
  | {
    readonly kind: "reply";
    readonly command: CommandRef;
    readonly status: "ok" | "failed";
    readonly value: Json;
  }
  | { readonly kind: "note"; readonly type: string; readonly body: Json };
