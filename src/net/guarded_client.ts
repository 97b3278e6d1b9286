/** The one way out by HTTP: every hop is judged, every answer is bounded, and nothing goes where the policy does not say. */
import { limits } from "../../schemas/limits.ts";
import type { UrlDecision } from "../../schemas/url_decision.ts";
import type { Clock } from "../seams.ts";
import { openBody } from "./answer_body.ts";
import { connect, unlessAborted } from "./connect.ts";
import { type Dial, dialBySystem } from "./dialer.ts";
import { type Answer, exchange } from "./exchange.ts";
import { lost } from "./head.ts";
import { HttpError } from "./http_error.ts";
import { type Outgoing, readOutgoing } from "./outgoing.ts";
import { Patience } from "./patience.ts";
import { Pool } from "./pool.ts";
import { locationOf, redirectRequest, refusedRedirect, resolveLocation } from "./redirect.ts";
import { type Resolve, resolveBySystem } from "./resolver.ts";
import { Route, type Step } from "./route.ts";
import type { Socket } from "./socket.ts";
import type { UrlPolicy, UrlTarget } from "./url_policy.ts";

/** Bounds of one request. Each stands in `schemas/limits.ts`; a caller may set its own. */
export interface HttpBounds {
  readonly dnsMs: number;
  readonly connectMs: number;
  /** From the request's last byte to the end of the answer's head. */
  readonly headersMs: number;
  /** How long a body may stand still while somebody waits for it. */
  readonly idleMs: number;
  /** Until the body was read. */
  readonly totalMs: number;
  /** Of the body, as it comes and decoded. */
  readonly bodyBytesMax: number;
  readonly redirectsMax: number;
}

/** What one request is given besides: its own bounds, and who else is told of each hop before anything is sent. */
export interface RequestTerms extends Partial<HttpBounds> {
  readonly onDecision?: (decision: UrlDecision) => void;
}

/** Options of {@linkcode GuardedClient}. */
export interface GuardedClientOptions {
  readonly policy: UrlPolicy;
  readonly clock: Clock;
  readonly bounds?: Partial<HttpBounds>;
  /** Certificates, in PEM, that count besides those of the system. */
  readonly caCerts?: readonly string[];
  /** Told of each hop before anything is sent to it (DM-71). */
  readonly onDecision?: (decision: UrlDecision) => void;
  /** What a name resolves to. By default what the system says. */
  readonly resolve?: Resolve;
  /** How an address is connected to. By default by TCP, never by a proxy. */
  readonly dial?: Dial;
}

const defaults: HttpBounds = {
  dnsMs: limits.dnsMs,
  connectMs: limits.httpConnectMs,
  headersMs: limits.httpHeadersMs,
  idleMs: limits.httpIdleMs,
  totalMs: limits.httpTotalMs,
  bodyBytesMax: limits.httpBodyBytesMax,
  redirectsMax: limits.httpRedirectsMax,
};

/** What asking again on a fresh connection cannot harm. */
const repeatable = new Set(["GET", "HEAD", "OPTIONS"]);

/** What one request carries from hop to hop. */
interface Journey {
  readonly bounds: HttpBounds;
  readonly patience: Patience;
  readonly mode: RequestRedirect;
  readonly route: Route;
}

/** What came of one hop. */
interface Arrival {
  readonly answer: Answer;
  readonly socket: Socket;
}

/** Makes requests under one policy. Its connections live until {@linkcode GuardedClient.close}. */
export class GuardedClient {
  readonly #options: GuardedClientOptions;
  readonly #bounds: HttpBounds;
  readonly #pool: Pool;
  readonly #open = new Set<Patience>();

  constructor(options: GuardedClientOptions) {
    this.#options = options;
    this.#bounds = { ...defaults, ...options.bounds };
    this.#pool = new Pool(options.clock);
  }

  /**
   * Like `fetch`: follows redirects by itself, gives the answer as soon as its head is there, and streams its body.
   *
   * Rejects with {@linkcode HttpError}, or with the signal's reason. Needs no `this`, so that it can be handed over as a
   * `fetch`. Bodies that were not read hold their connection until they are canceled or their time is up.
   */
  readonly fetch = async (
    url: string | URL,
    init: RequestInit = {},
    { onDecision: tell, ...bounds }: RequestTerms = {},
  ): Promise<Response> => {
    init.signal?.throwIfAborted();
    const request = await readOutgoing(init);
    if (this.#open.size >= limits.httpExchangesAtOnceMax) {
      const message =
        `Cannot send a request while ${limits.httpExchangesAtOnceMax} are under way; try again later`;
      throw new HttpError("http_busy", message, { wasSent: false });
    }
    const all = { ...this.#bounds, ...bounds };
    const { clock, policy, resolve = resolveBySystem, onDecision } = this.#options;
    const told = (decision: UrlDecision) => {
      onDecision?.(decision);
      tell?.(decision);
    };
    const route = new Route({ policy, resolve, clock, dnsMs: all.dnsMs, onDecision: told });
    const { totalMs, connectMs, headersMs, idleMs } = all;
    const phaseMsMin = Math.min(connectMs, headersMs, idleMs);
    const patience = new Patience({ clock, totalMs, phaseMsMin, signal: init.signal ?? undefined });
    this.#open.add(patience);
    const journey: Journey = { bounds: all, patience, mode: init.redirect ?? "follow", route };
    try {
      return await this.#travel(url instanceof URL ? url.href : url, request, journey);
    } catch (error) {
      this.#end(patience);
      if (patience.signal.aborted) throw patience.signal.reason;
      const failed = error instanceof HttpError ? error : lost(error);
      failed.hops = route.decisions;
      throw failed;
    }
  };

  /** Connections that wait for another request. */
  get idleConnections(): number {
    return this.#pool.size;
  }

  /** Ends every request that is under way and every connection. */
  close(): void {
    for (const patience of this.#open) {
      patience.giveUp(new HttpError("http_connection_lost", "Gave up a request: its client was closed"));
    }
    this.#pool.close();
  }

  async #travel(first: string, initial: Outgoing, journey: Journey): Promise<Response> {
    const { route, mode, bounds, patience } = journey;
    let url = first;
    let request = initial;
    let headersStripped = 0;
    while (true) {
      const step = await route.next(url, headersStripped, patience.signal);
      const { answer, socket } = await this.#ask(step, request, journey);
      try {
        const location = mode === "manual" ? undefined : locationOf(answer.head);
        if (location === undefined) return await this.#respond(step, answer, socket, journey);
        if (mode === "error") throw refusedRedirect("its caller wants none");
        if (route.redirects >= bounds.redirectsMax) {
          throw refusedRedirect(`there were ${bounds.redirectsMax} already (${route.text})`);
        }
        url = resolveLocation(location, step.target.url);
        const isSameOrigin = URL.parse(url)?.origin === step.target.url.origin;
        ({ request, headersStripped } = redirectRequest(request, answer.head.status, isSameOrigin));
      } catch (error) {
        socket.close();
        throw error;
      }
      socket.close();
    }
  }

  /** Sends one hop. A kept connection that turns out dead is replaced once, if asking twice harms nobody. */
  async #ask(step: Step, request: Outgoing, journey: Journey): Promise<Arrival> {
    const { patience } = journey;
    const { target, addresses } = step;
    const kept = this.#pool.take(target.url.origin, addresses);
    if (kept) {
      try {
        return await this.#exchange(kept, target, request, journey);
      } catch (error) {
        const isDead = error instanceof HttpError && error.code === "http_connection_lost" ||
          !(error instanceof HttpError);
        const mayRepeat = repeatable.has(request.method) && !(request.body instanceof ReadableStream);
        if (patience.signal.aborted || !isDead || !mayRepeat) throw error;
      }
    }
    patience.enter("connect", journey.bounds.connectMs);
    const { clock, dial = dialBySystem, caCerts = [] } = this.#options;
    const socket = await connect({ target, addresses, dial, clock, caCerts, signal: patience.signal });
    return await this.#exchange(socket, target, request, journey);
  }

  async #exchange(socket: Socket, target: UrlTarget, request: Outgoing, journey: Journey): Promise<Arrival> {
    const { patience, bounds } = journey;
    const { signal } = patience;
    const close = () => socket.close();
    signal.addEventListener("abort", close, { once: true });
    try {
      const answer = await unlessAborted(
        () => exchange({ socket, target, request, patience, bounds }),
        signal,
      );
      return { answer, socket };
    } catch (error) {
      socket.close();
      throw error;
    }
  }

  async #respond(step: Step, answer: Answer, socket: Socket, journey: Journey): Promise<Response> {
    const { patience, bounds, route } = journey;
    const { head } = answer;
    const onEnd = (isReusable: boolean) => {
      this.#end(patience);
      if (isReusable) this.#pool.put(step.target.url.origin, socket);
      else socket.close();
    };
    const { idleMs, bodyBytesMax } = bounds;
    const body = await openBody(
      { answer, socket, patience, idleMs, bytesMax: bodyBytesMax, onEnd },
      head.status,
    );
    const response = new Response(body, {
      status: head.status,
      statusText: head.statusText,
      headers: head.headers.map(([name, value]) => [name, value] as [string, string]),
    });
    if (response.headers.has("content-encoding")) {
      response.headers.delete("content-encoding");
      response.headers.delete("content-length");
    }
    Object.defineProperties(response, {
      url: { value: step.target.url.href },
      redirected: { value: route.redirects > 0 },
    });
    return response;
  }

  #end(patience: Patience): void {
    patience.end();
    this.#open.delete(patience);
  }
}
