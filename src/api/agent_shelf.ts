/** The agents that a host offers to programs, by name. */
import type { LoadedAgent } from "../host/agent_folder.ts";
import type { SessionHome } from "../host/session_home.ts";

/** An agent that is offered. */
export interface OfferedAgent extends LoadedAgent {
  /** Where its sessions are at home. */
  readonly place: SessionHome;
}

/** The agents that a host offers. */
export interface AgentShelf {
  readonly names: readonly string[];
  /** Reads the agent anew, so that a session begins with its newest definition; undefined if none has this name. */
  find(name: string): Promise<OfferedAgent | undefined>;
  /** Where sessions of agents that come as data are at home. */
  readonly place: SessionHome;
}
