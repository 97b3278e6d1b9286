/** The roots that a runtime brings into the world: its supervisor, and sessions with their catalogs, connections and schedules. */
import type { Holder } from "../actors/child_rights.ts";
import { childServers } from "./agents/child_servers.ts";
import type { Lineage } from "./agents/lineage.ts";
import type { Budget } from "../schemas/budget.ts";
import type { Parentage } from "../schemas/child_agent.ts";
import { movedHome } from "./host/session_home.ts";
import { notYours } from "../actors/session_close.ts";
import { connectionAddress, type RootAddress, type RootKind, sessionOf } from "../schemas/ids.ts";
import type { Json } from "../schemas/json.ts";
import type { McpDeclaration } from "../schemas/manifest.ts";
import { rootInputs, rootMessages, type SessionServer } from "../schemas/message.ts";
import { localOperator, principalText } from "../schemas/principal.ts";
import type { ScheduleInput } from "../schemas/schedule.ts";
import type { TaskInput } from "../schemas/task.ts";
import { submit } from "./kernel/command.ts";
import { type Birth, create, type Spawned } from "./kernel/create.ts";
import { type BirthRows, createOnce, type Made } from "./kernel/create_once.ts";
import { type Kernel, KernelError } from "./kernel/kernel.ts";
import type { SessionDraft } from "./session_draft.ts";
import { shareSources } from "./shared_sources.ts";
import type { SpawnOrder } from "./spawn_order.ts";

/** Creates the supervisor of all roots. */
export function createSupervisor(kernel: Kernel, address: RootAddress): Promise<void> {
  return bear(kernel, "supervisor", { address, policy: {} }, { title: "supervisor of all roots" });
}

/** What is told of a session that is begun by the API. */
export interface SpawnedSession extends Spawned {
  /** Its address, which nobody has yet. */
  readonly address: RootAddress;
  /** Rows that are set with its birth. */
  readonly rows: BirthRows;
}

/** Creates a session, its catalog and the connections of its servers; resolves once all are durable. */
export async function createSession(
  kernel: Kernel,
  draft: SessionDraft,
  spawned?: SpawnedSession,
): Promise<RootAddress> {
  const address: RootAddress = spawned?.address ?? `session/${kernel.seams.nextId("ses")}`;
  const catalog = address.replace(/^session/, "catalog");
  const { parent } = draft;
  const title = draft.title ?? parent?.path.at(-1) ?? draft.agent.name;
  const servers = serversOf(address, draft.servers ?? []);
  const given = await shareSources(kernel, draft.sources);
  // The session last: units become durable in order, so no crash leaves a session that waits for what never comes.
  const births = [
    bear(kernel, "catalog", {
      address: catalog,
      coreRevision: draft.coreRevision,
      agent: draft.agent,
      policy: draft.policy,
      ...given,
      subscriber: address,
      scope: draft.scope,
    }, { title }),
    ...servers.map((server) => createConnection(kernel, server, catalog)),
    bear(kernel, "session", {
      address,
      agent: draft.agent,
      home: draft.home,
      catalog,
      principal: draft.principal ?? localOperator,
      servers,
      mode: draft.mode ?? "default",
      scope: draft.scope,
      installation: kernel.journal.format.installation,
      budget: draft.budget,
      ...(draft.recovery === undefined ? {} : { recovery: draft.recovery }),
      ...(parent === undefined ? {} : { parent }),
    }, { title, ...(parent === undefined ? {} : { parent: parent.task }), ...bornAs(spawned) }),
  ];
  await Promise.all(births);
  return address;
}

/** Creates a session by a command, once. */
export function spawnSession(kernel: Kernel, order: SpawnOrder): Promise<Made> {
  const { draft, ref, content, owner, name, labels, rows: own = () => [] } = order;
  const address: RootAddress = `session/${kernel.seams.nextId("ses")}`;
  const known = {
    owner: principalText(owner),
    ...(name === undefined ? {} : { name }),
    ...(labels === undefined ? {} : { labels }),
  };
  const make = async (rows: BirthRows) =>
    await createSession(kernel, { ...draft, principal: owner }, {
      address,
      rows: [...rows, ...own(address)],
      ...known,
    });
  return createOnce(kernel, { ref, content, address, name, make });
}

/** A child's session that is to be made. */
export interface ChildDraft {
  readonly address: RootAddress;
  /** Its parent. */
  readonly lineage: Lineage;
  /** What it may do. */
  readonly holder: Holder;
  readonly parent: Parentage;
  /** What it may spend of its parent's budget. */
  readonly budget: Budget | undefined;
}

/**
 * Creates the session of a child agent with its catalog and connections; what is there already stays. Resolves once all
 * are durable.
 */
export async function createChildSession(kernel: Kernel, draft: ChildDraft): Promise<void> {
  const { address, lineage, holder, parent } = draft;
  const { agent, mode, scope } = holder;
  const id = address.slice("session/".length);
  const catalog: RootAddress = `catalog/${id}`;
  const title = parent.path.at(-1) ?? agent.name;
  const servers = childServers(lineage, holder, address);
  const { home } = lineage.session;
  const input = {
    ...lineage.session,
    address,
    agent,
    home: holder.workspace === lineage.workspace ? home : movedHome(home, holder.workspace),
    catalog,
    principal: { kind: "agent", id },
    servers,
    mode,
    scope,
    parent,
    budget: draft.budget,
  };
  // The session last, as for every other.
  const births: [RootKind, { readonly address: RootAddress } & Record<string, unknown>, string][] = [
    ["catalog", { ...lineage.catalog, address: catalog, agent, subscriber: address, scope }, title],
    ...servers.map(({ connection, declaration }): (typeof births)[number] => [
      "connection",
      { address: connection, catalog, declaration },
      declaration.server,
    ]),
    ["session", input, title],
  ];
  const fresh = births.filter(([, { address: one }]) => !kernel.records.has(one));
  await Promise.all(
    fresh.map(([kind, one, name]) =>
      bear(kernel, kind, one, { title: name, ...(kind === "session" ? { parent: parent.task } : {}) })
    ),
  );
}

/** Creates a schedule of a session; resolves once it is durable. */
export function createSchedule(kernel: Kernel, input: ScheduleInput): Promise<void> {
  return bear(kernel, "schedule", { ...input }, { title: input.prompt });
}

/** Tells a session all its servers; connections that it never had come first. Resolves once the session knows. */
export async function declareServers(
  kernel: Kernel,
  session: RootAddress,
  declarations: readonly McpDeclaration[],
): Promise<void> {
  if (!kernel.records.has(session)) {
    throw new KernelError("root_not_found", `No actor has the address "${session}"`);
  }
  const parent = kernel.records.get(session)?.parent;
  if (parent !== undefined) {
    throw new KernelError("session_not_yours", notYours(sessionOf(parent) ?? parent));
  }
  const servers = serversOf(session, declarations);
  const catalog = session.replace(/^session/, "catalog");
  const fresh = servers.filter(({ connection }) => !kernel.records.has(connection));
  const message = rootMessages.session.parse({ type: "session.servers", servers });
  await Promise.all(fresh.map((server) => createConnection(kernel, server, catalog)));
  const ref = { principal: principalText(localOperator), key: kernel.seams.nextId("cmd") };
  const { accepted } = await submit(kernel, { root: session, message: message as never, ref, isFresh: true });
  await accepted();
}

function serversOf(session: RootAddress, declarations: readonly McpDeclaration[]): readonly SessionServer[] {
  return declarations.map((declaration) => ({
    connection: connectionAddress(declaration.server, session),
    declaration,
  }));
}

/** Creates the connection to a server of a session. */
export function createConnection(
  kernel: Kernel,
  { connection, declaration }: SessionServer,
  catalog: RootAddress,
): Promise<void> {
  return bear(kernel, "connection", { address: connection, catalog, declaration }, {
    title: declaration.server,
  });
}

/** Creates a task; resolves once it is durable. */
export function createTask(kernel: Kernel, input: TaskInput): Promise<void> {
  return bear(kernel, "task", input, { title: input.title });
}

/** Creates a root. Parses its input by its schema: what cannot be read back is never written. */
export function bear(
  kernel: Kernel,
  kind: RootKind,
  input: { readonly address: RootAddress } & { readonly [key: string]: unknown },
  rest: Pick<Birth, "title" | "parent" | "spawned" | "rows">,
): Promise<void> {
  const parsed = rootInputs[kind].parse(input);
  // Without what is not there, so that what is needs no copy to be plain JSON.
  const present = Object.fromEntries(Object.entries(parsed).filter(([, value]) => value !== undefined));
  return create(kernel, { address: input.address, kind, input: present as Json, ...rest });
}

function bornAs(session: SpawnedSession | undefined): Pick<Birth, "spawned" | "rows"> {
  if (session === undefined) return {};
  const { address: _, rows, ...spawned } = session;
  return { spawned, rows };
}
