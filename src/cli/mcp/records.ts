/** What the journals of a store know of one server of an agent: its connections, the newest session first. */
import { CatalogSource } from "../../../schemas/catalog.ts";
import type { Entry } from "../../../schemas/entry.ts";
import { McpListing } from "../../../schemas/effect.ts";
import { type RootAddress, sessionOf } from "../../../schemas/ids.ts";
import type { Records } from "../../host/host.ts";
import { readHome } from "../../host/session_home.ts";
import { peek, peekText } from "../../peek.ts";

/** Whose connections are meant. */
export interface ServerOfAgent {
  readonly server: string;
  /** The agent's folder, real and absolute. */
  readonly folder: string;
}

/** The connections to a server of sessions of an agent, the newest first. */
export async function connectionsOf(
  records: Pick<Records, "listRoots" | "readPages">,
  { server, folder }: ServerOfAgent,
): Promise<readonly RootAddress[]> {
  const found: RootAddress[] = [];
  for (const { address, kind } of await records.listRoots()) {
    if (kind !== "connection" || !address.startsWith(`connection/${server}@`)) continue;
    const session = sessionOf(address);
    if (session !== undefined && await isOfAgent(records, session, folder)) found.push(address);
  }
  return found.reverse();
}

/** The fingerprints under which sessions of an agent declared a server, each once. */
export async function fingerprintsOf(
  records: Pick<Records, "listRoots" | "readPages">,
  whose: ServerOfAgent,
): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const connection of await connectionsOf(records, whose)) {
    for await (const page of records.readPages(connection)) {
      for (const { body } of page) {
        for (const place of ["input", "message"]) {
          found.add(peekText(body, place, "declaration", "fingerprint"));
        }
      }
    }
  }
  found.delete("");
  return [...found];
}

async function isOfAgent(
  records: Pick<Records, "readPages">,
  session: RootAddress,
  folder: string,
): Promise<boolean> {
  for await (const [first] of records.readPages(session)) {
    const agent = readHome(peekText(first?.body, "input", "home"))?.agent;
    return agent?.kind === "folder" && agent.path === folder;
  }
  return false;
}

/** One list of a server's tools, as a journal keeps it. */
export interface KeptList {
  readonly connection: RootAddress;
  readonly at: number;
  readonly listing: McpListing;
  readonly source: CatalogSource;
}

/** The list that came last over all sessions; undefined if none did. */
export async function lastList(
  records: Pick<Records, "listRoots" | "readPages" | "readBlob">,
  whose: ServerOfAgent,
): Promise<KeptList | undefined> {
  let last: Omit<KeptList, "source"> | undefined;
  for (const connection of await connectionsOf(records, whose)) {
    for await (const page of records.readPages(connection)) {
      for (const entry of page) {
        const listing = listingIn(entry);
        if (listing !== undefined && entry.at >= (last?.at ?? 0)) {
          last = { connection, at: entry.at, listing };
        }
      }
    }
  }
  if (last === undefined) return undefined;
  const bytes = await records.readBlob(last.listing.offer);
  return { ...last, source: CatalogSource.parse(JSON.parse(new TextDecoder().decode(bytes))) };
}

function listingIn({ kind, body }: Entry): McpListing | undefined {
  if (kind !== "outcome") return undefined;
  return McpListing.safeParse(peek(body, "value")).data;
}
