/** What the methods of the API are carried out with. */
import type { HostConfig } from "../../schemas/config.ts";
import type { PermissionMode } from "../../schemas/mode.ts";
import type { TraceId } from "../../schemas/trace.ts";
import type { ActingHost } from "../host/host.ts";
import type { Declarer } from "../host/declarer.ts";
import type { ProgramDesk } from "../programs/program_desk.ts";
import type { Runtime } from "../runtime.ts";
import type { Seams } from "../seams.ts";
import type { AgentShelf } from "./agent_shelf.ts";
import type { Caller } from "./caller.ts";
import type { Fates } from "./fates.ts";

/** What the methods are carried out with. */
export interface ApiParts {
  readonly runtime: Runtime;
  /** The same store, as commands use it. */
  readonly host: ActingHost;
  readonly seams: Seams;
  readonly config: HostConfig;
  readonly declarer: Declarer;
  readonly shelf: AgentShelf;
  readonly fates: Fates;
  readonly programs: ProgramDesk;
  /** The freest mode that a session may be begun in. */
  readonly mode: PermissionMode;
}

/** One request. */
export interface ApiCallContext {
  readonly parts: ApiParts;
  readonly caller: Caller;
  /** What makes a repeat of a command harmless. Set for commands, and only for them. */
  readonly key: string;
  /** Goes with what a command leads to (GA-27). */
  readonly trace?: TraceId | undefined;
  /** Aborts when the caller has gone. What was accepted goes on. */
  readonly signal: AbortSignal;
}
