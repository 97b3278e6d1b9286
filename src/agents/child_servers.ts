/** The MCP servers of a child: its parent's, over connections of its own, as far as it may still use them. */
import type { Holder } from "../../actors/child_rights.ts";
import { connectionAddress, type RootAddress } from "../../schemas/ids.ts";
import type { SessionServer } from "../../schemas/message.ts";
import type { Lineage } from "./lineage.ts";

/**
 * The servers of which the child has a tool left. A server is started where its parent works, so a child that has only a
 * part of that has none.
 */
export function childServers(
  { servers, workspace }: Lineage,
  child: Holder,
  address: RootAddress,
): readonly SessionServer[] {
  if (child.workspace !== workspace) return [];
  const { tools } = child.scope;
  return servers.map(({ declaration }) => declaration)
    .filter(({ server }) => tools === undefined || tools.some((name) => name.startsWith(`mcp.${server}.`)))
    .map((declaration) => ({ connection: connectionAddress(declaration.server, address), declaration }));
}
