/** What a token of the actor API may be used for. */
import { z } from "zod";

/**
 * One right. `agents:define` allows agents that the host does not know, as data in the request; `tools:provide` lets a
 * program bring tools, `tools:invoke` open calls of them.
 */
export const ApiScope = z.enum([
  "sessions:read",
  "sessions:write",
  "tools:invoke",
  "tools:provide",
  "approvals:read",
  "approvals:decide",
  "tasks:read",
  "tasks:write",
  "log:read",
  "log:export",
  "agents:define",
  "admin",
]);
/** One right. */
export type ApiScope = z.infer<typeof ApiScope>;

/** Those that a token for a program or an agent never has, whatever its record says (B26). */
export const personScopes: readonly ApiScope[] = ["approvals:decide", "admin"];
