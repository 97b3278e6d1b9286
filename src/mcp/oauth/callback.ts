/** The page of this machine to which a browser comes back from a login: for one answer, on loopback, for a limited time. */
import { limits } from "../../../schemas/limits.ts";
import { isSameToken } from "../../door/token.ts";
import type { Seams } from "../../seams.ts";
import { authFailed } from "./auth_error.ts";
import type { ServerMetadata } from "./metadata.ts";

const path = "/callback";

/** What the browser must bring. */
export interface Expected {
  readonly state: string;
  readonly server: Pick<ServerMetadata, "issuer" | "authorization_response_iss_parameter_supported">;
}

type Clocked = Pick<Seams, "clock" | "digest">;

const headers = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": "default-src 'none'",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  connection: "close",
};

/** Listens on 127.0.0.1, on a port of its own unless one is asked for. */
export class Callback {
  readonly redirectUri: string;
  readonly #seams: Clocked;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #answer = Promise.withResolvers<string>();
  #expected: Expected | undefined;
  #requests = 0;
  #isOver = false;

  /** Throws `AuthError` if the port is taken. */
  constructor(port: number | undefined, seams: Clocked) {
    this.#seams = seams;
    this.#answer.promise.catch(() => {}); // It may come before anybody waits.
    try {
      const at = { hostname: "127.0.0.1", port: port ?? 0, onListen: () => {} };
      this.#server = Deno.serve(at, (request) => this.#handle(request));
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
      const why = `port ${port} of this machine is in use; free it, or choose another callback_port`;
      throw authFailed(`Cannot wait for the browser: ${why}`);
    }
    this.redirectUri = `http://127.0.0.1:${this.#server.addr.port}${path}`;
  }

  /** Waits for the code. Throws `AuthError` if the login was refused, is not the one that was begun, or takes too long. */
  async wait(expected: Expected, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    this.#expected = expected;
    const { clock } = this.#seams;
    const over = new AbortController();
    const onAbort = () => this.#answer.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    const late = clock.sleepUntil(clock.now() + limits.oauthCallbackMs, over.signal).then(() => {
      if (over.signal.aborted) return;
      const minutes = limits.oauthCallbackMs / 60_000;
      this.#answer.reject(
        authFailed(`Gave up the login: nobody came back from the browser within ${minutes} minutes`),
      );
    });
    try {
      return await this.#answer.promise;
    } finally {
      over.abort();
      signal.removeEventListener("abort", onAbort);
      await late;
    }
  }

  /** Stops listening; what is being answered is answered. */
  async close(): Promise<void> {
    this.#isOver = true;
    await this.#server.shutdown();
  }

  /** Whatever else comes to the port changes nothing: pages of other sites can send requests here, too. */
  async #handle(request: Request): Promise<Response> {
    const url = new URL(request.url);
    if (++this.#requests > limits.oauthCallbackRequestsMax) {
      this.#answer.reject(
        authFailed("Gave up the login: something sends one request after another to its page"),
      );
    }
    const { origin } = new URL(this.redirectUri);
    const isOurs = !this.#isOver && this.#expected !== undefined && url.origin === origin &&
      url.pathname === path;
    if (request.method !== "GET" || !isOurs || !(await this.#isState(url.searchParams))) {
      return page(404, "There is nothing here.");
    }
    this.#isOver = true;
    return this.#conclude(url.searchParams);
  }

  async #isState(query: URLSearchParams): Promise<boolean> {
    const given = query.getAll("state");
    const wanted = this.#expected?.state ?? "";
    return given.length === 1 && await isSameToken(given[0] ?? "", wanted, this.#seams.digest);
  }

  #conclude(query: URLSearchParams): Response {
    const problem = problemOf(query, this.#expected);
    const [code = ""] = query.getAll("code");
    if (problem !== undefined) this.#answer.reject(authFailed(`The login was not accepted: ${problem}`));
    else this.#answer.resolve(code);
    return problem === undefined
      ? page(200, "You are logged in. You may close this page.")
      : page(400, "The login was not accepted: see the terminal. You may close this page.");
  }
}

/** Why what the browser brought is no login; the words of the other side are shown only where they are a plain code. */
function problemOf(query: URLSearchParams, expected: Expected | undefined): string | undefined {
  const [issuer, more] = query.getAll("iss");
  const isNeeded = expected?.server.authorization_response_iss_parameter_supported === true;
  // Another server's answer must not be taken for this one's (RFC 9207).
  if (more !== undefined || (issuer === undefined ? isNeeded : issuer !== expected?.server.issuer)) {
    return "it comes from another authorization server than the one that was asked";
  }
  const error = query.get("error");
  if (error !== null) return /^[a-z_]{1,64}$/.test(error) ? error : "it was refused";
  const codes = query.getAll("code");
  return codes.length === 1 && /^[\x20-\x7e]{1,4096}$/.test(codes[0] ?? "") ? undefined : "it brings no code";
}

function page(status: number, text: string): Response {
  const body =
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>troupe</title><p>${text}</p></html>\n`;
  return new Response(body, { status, headers });
}
