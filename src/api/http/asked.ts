/** One request of the API by HTTP: what comes with it, and who asks it. */
import type { Context } from "hono";
import type { IncomingMessage } from "node:http";
import type { Seams } from "../../seams.ts";
import type { ActorApi } from "../actor_api.ts";
import { ApiFailure } from "../api_failure.ts";
import type { Authenticator } from "../authenticator.ts";
import type { Caller } from "../caller.ts";
import type { McpFront } from "../mcp/mcp_front.ts";
import { only } from "./head_guard.ts";
import type { Rate, RateLimit } from "./rate_limit.ts";

/** What the API is offered with. */
export interface HttpAppOptions {
  readonly api: ActorApi;
  readonly authenticator: Authenticator;
  readonly seams: Pick<Seams, "clock" | "nextId" | "log">;
  /** Undefined: as often as the machine can. */
  readonly rate: Rate | undefined;
  /** Time for a body, in milliseconds. */
  readonly bodyMs: number;
  /** Answers at `/mcp`, if MCP is spoken too. */
  readonly mcp?: Pick<McpFront, "answer" | "close"> | undefined;
}

/** What comes with each request. */
export interface HttpBindings {
  readonly incoming: IncomingMessage;
  /** Names the request, in answers and in the log. */
  readonly trace: string;
  /** Aborts when nobody waits for the answer any more. */
  readonly gone: AbortSignal;
  /** Aborts when the other side has closed the connection. */
  readonly left: AbortSignal;
  /** Breaks the connection. */
  readonly kill: () => void;
  /** Aborts when the server is to end. */
  readonly ending: AbortSignal;
}

/** A request, with what comes with it. */
export type Asked = Context<{ Bindings: HttpBindings }>;

/** A refusal that says when to come again, in milliseconds. */
export class TooOften extends ApiFailure {
  readonly waitMs: number;
  constructor(waitMs: number) {
    super("rate_limited", "Too many requests: wait as long as Retry-After says");
    this.waitMs = waitMs;
  }
}

/** How often may be asked, and how often wrongly. */
export interface Limiters {
  readonly asked: RateLimit | undefined;
  readonly refused: RateLimit;
}

/** Who asks. Refuses without a look at the body, and soon without a look at the token too (B08, B15). */
export async function admit(
  c: Asked,
  { authenticator, limiters, seams }: Pick<HttpAppOptions, "authenticator" | "seams"> & {
    readonly limiters: Limiters;
  },
): Promise<Caller> {
  const { incoming: { rawHeaders, socket }, trace } = c.env;
  const peer = socket.remoteAddress ?? "";
  const found = await authenticator.authenticate({ authorization: only(rawHeaders, "authorization"), peer });
  if (found instanceof ApiFailure) {
    seams.log({ level: "info", event: "api.refused", detail: { request: trace, code: found.code, peer } });
    authenticator.onRefused?.({ code: found.code, peer });
    const waitMs = limiters.refused.take(peer);
    throw waitMs > 0 ? new TooOften(waitMs) : found;
  }
  if (rawHeaders.some((name, at) => at % 2 === 0 && /scope/i.test(name))) {
    seams.log({ level: "warning", event: "api.scope_claim_ignored", detail: { request: trace, peer } });
  }
  return found;
}
