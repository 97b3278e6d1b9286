/** What the bench asks the children that call an MCP server, and what they answer: one more line of the dialogue. */
import type { McpCase } from "./mcp_case.ts";
import type { Counts } from "./protocol.ts";
import type { Effect } from "./turn_case.ts";

/** Starts the server, calls it in groups, and ends it. */
export interface McpRequest {
  readonly do: "mcp";
  readonly asked: McpCase;
  /** Where the server is that is no process of the side's own. */
  readonly url: string;
  /** What a repeat of a call would do. Bare clients know no difference. */
  readonly effect: Effect;
  /** Groups of calls that are timed. */
  readonly groups: number;
  /** Groups before them over the same connection. */
  readonly warmUps: number;
}

/** Times in milliseconds. */
export interface McpAnswer {
  /** From the order to start the server until its tools are known. */
  readonly connectMs: number;
  /** Wall time of each group; for a governed one that of its turn, less that of a turn without calls. */
  readonly times: readonly number[];
  /** Wall time of each turn without calls. Bare clients have none. */
  readonly emptyTurns: readonly number[];
  /** What turns with calls count more than turns without. Bare clients count nothing. */
  readonly counts?: Counts;
}

/** One way to call the server. */
export interface McpSide {
  measure(request: McpRequest): Promise<McpAnswer>;
  stop(): Promise<void>;
}

declare module "./protocol.ts" {
  interface Dialogue {
    readonly mcp: readonly [McpRequest, McpAnswer];
  }
}
