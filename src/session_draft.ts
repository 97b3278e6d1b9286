/** A session that is to be made. */
import type { AgentDefinition } from "../schemas/agent.ts";
import type { Budget } from "../schemas/budget.ts";
import type { Parentage } from "../schemas/child_agent.ts";
import type { CatalogSource } from "../schemas/catalog.ts";
import type { HostPolicy } from "../schemas/config.ts";
import type { McpDeclaration } from "../schemas/manifest.ts";
import type { PermissionMode } from "../schemas/mode.ts";
import type { Principal } from "../schemas/principal.ts";
import type { SessionScope } from "../schemas/profile.ts";

/** A session to be made. */
export interface SessionDraft {
  readonly agent: AgentDefinition;
  readonly coreRevision: string;
  readonly home: string;
  readonly sources: readonly CatalogSource[];
  readonly policy: HostPolicy;
  /** MCP servers of the session, each id once. They are started before the first turn, not now. */
  readonly servers?: readonly McpDeclaration[];
  readonly principal?: Principal;
  /** How freely its tools act without a person, for its whole life. Default `default`. */
  readonly mode?: PermissionMode | undefined;
  /** Its profile and depth; without it a root session for people. */
  readonly scope?: SessionScope | undefined;
  /** What it may spend in all, besides what its agent says: the stricter one counts, field by field. */
  readonly budget?: Budget | undefined;
  readonly title?: string;
  /** How its turns go on after failures of the model; without it they are tried a few times, and fail. */
  readonly recovery?: AgentDefinition["recovery"] | undefined;
  /** Set for the session of a child agent. */
  readonly parent?: Parentage;
}
