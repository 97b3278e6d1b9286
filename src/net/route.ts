/** The hops of one request: each is judged, resolved and judged again before anything is sent to it, and then noted. */
import type { UrlDecision } from "../../schemas/url_decision.ts";
import type { Clock } from "../seams.ts";
import { resolveTarget } from "./connect.ts";
import { HttpError } from "./http_error.ts";
import type { Resolve } from "./resolver.ts";
import { type Hop, originText, type UrlPolicy, type UrlRefusal, type UrlTarget } from "./url_policy.ts";

/** A hop that may be made. */
export interface Step {
  readonly target: UrlTarget;
  /** All that may be connected to. */
  readonly addresses: readonly string[];
}

/** What a {@linkcode Route} needs. */
export interface RouteOptions {
  readonly policy: UrlPolicy;
  readonly resolve: Resolve;
  readonly clock: Clock;
  readonly dnsMs: number;
  /** Told of each decision (DM-71). */
  readonly onDecision?: ((decision: UrlDecision) => void) | undefined;
}

/** Where one request has been. Nothing of it holds a path or a query. */
export class Route {
  readonly #options: RouteOptions;
  readonly #decisions: UrlDecision[] = [];
  #from: Hop | undefined;

  constructor(options: RouteOptions) {
    this.#options = options;
  }

  /** One decision for each hop; the last may be a refusal. */
  get decisions(): readonly UrlDecision[] {
    return this.#decisions;
  }

  /** Redirects that were followed. */
  get redirects(): number {
    return Math.max(0, this.#decisions.length - 1);
  }

  /** The hops by scheme, host and port. */
  get text(): string {
    return this.#decisions
      .map(({ scheme = "?", host = "?", port }) =>
        `${scheme}://${host}${port === undefined ? "" : `:${port}`}`
      )
      .join(" -> ");
  }

  /** Judges the next hop, and notes the decision before anything can be sent (DM-81). */
  async next(url: string, headersStripped: number, signal: AbortSignal): Promise<Step> {
    const { policy, resolve, clock, dnsMs } = this.#options;
    const verdict = policy.judge(url, this.#from);
    if (verdict.type === "refused") throw this.#refuse(verdict.refusal, headersStripped);
    const { target } = verdict;
    const { scheme, host, port } = target;
    const answers = await resolveTarget({ target, resolve, clock, dnsMs, signal });
    if (!answers) {
      const message = `Cannot reach ${originText(target)}: its name is not resolved; check its spelling`;
      const refusal = { code: "url_unresolved", reason: "dns_failure", message, scheme, host, port } as const;
      throw this.#refuse(refusal, headersStripped);
    }
    const checked = policy.judgeAddresses(target, answers, this.#from);
    if (checked.type === "refused") throw this.#refuse(checked.refusal, headersStripped);
    this.#note({ reason: "allowed", scheme, host, port }, headersStripped);
    this.#from = { scheme, isPublic: checked.isPublic || this.#from?.isPublic === true };
    return { target, addresses: checked.addresses };
  }

  #refuse(refusal: UrlRefusal, headersStripped: number): HttpError {
    const wasSent = this.#from !== undefined;
    this.#note(refusal, headersStripped);
    const route = this.#decisions.length > 1 ? ` (${this.text})` : "";
    return new HttpError(refusal.code, `${refusal.message}${route}`, { wasSent });
  }

  #note(
    { reason, kind, scheme, host, port }: Omit<UrlDecision, "phase" | "headersStripped">,
    headersStripped: number,
  ): void {
    const decision: UrlDecision = {
      phase: this.#from ? "redirect" : "request",
      reason,
      ...(kind === undefined ? {} : { kind }),
      ...(scheme === undefined ? {} : { scheme }),
      ...(host === undefined ? {} : { host }),
      ...(port === undefined ? {} : { port }),
      headersStripped,
    };
    this.#decisions.push(decision);
    this.#options.onDecision?.(decision);
  }
}
