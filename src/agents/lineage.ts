/** What is known of the session that begins a child: what it was created with, and the servers that it has now. */
import { z } from "zod";
import type { Holder } from "../../actors/child_rights.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { rootInputs, SessionServers } from "../../schemas/message.ts";
import { readHome } from "../host/session_home.ts";
import type { Kernel } from "../kernel/kernel.ts";

/** A session that can have children. */
export interface Lineage extends Holder {
  /** Names of the agents from the root to this one. */
  readonly path: readonly string[];
  readonly session: z.infer<typeof rootInputs.session>;
  readonly catalog: z.infer<typeof rootInputs.catalog>;
  /** The servers of the session as they are declared now. */
  readonly servers: z.infer<typeof SessionServers>;
}

const Persisted = z.looseObject({ context: z.looseObject({ servers: SessionServers }) });
const Declared = z.looseObject({ message: z.looseObject({ servers: SessionServers }) });

/** Reads what a session is; undefined if this release did not write it. */
export async function readLineage(kernel: Kernel, address: RootAddress): Promise<Lineage | undefined> {
  const session = rootInputs.session.safeParse(await inputOf(kernel, address));
  if (!session.success) return undefined;
  const catalog = rootInputs.catalog.safeParse(await inputOf(kernel, session.data.catalog));
  if (!catalog.success) return undefined;
  // For whoever makes another catalog from it.
  if (catalog.data.shared !== undefined) await kernel.loadShelved(catalog.data.shared);
  const { agent, mode, scope = {}, home, parent } = session.data;
  return {
    agent,
    mode,
    scope,
    workspace: readHome(home)?.workspace ?? "",
    path: parent?.path ?? [agent.name],
    session: session.data,
    catalog: catalog.data,
    servers: await serversOf(kernel, address) ?? session.data.servers,
  };
}

async function inputOf({ journal }: Kernel, address: RootAddress): Promise<unknown> {
  for await (const { body } of journal.readEntries(address)) {
    return (body as { readonly input?: unknown } | undefined)?.input;
  }
  return undefined;
}

/** A session that calls a tool is awake; if it sleeps meanwhile, its journal says what was declared last. */
async function serversOf(kernel: Kernel, address: RootAddress): Promise<Lineage["servers"] | undefined> {
  const live = kernel.roots.get(address);
  const persisted = live === undefined ? undefined : Persisted.safeParse(live.persisted());
  if (persisted?.success === true) return persisted.data.context.servers;
  let last: Lineage["servers"] | undefined;
  for await (const { kind, type, body } of kernel.journal.readEntries(address)) {
    if (kind !== "input" || type !== "session.servers") continue;
    last = Declared.safeParse(body).data?.message.servers ?? last;
  }
  return last;
}
