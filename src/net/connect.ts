/** From a judged URL to a connection that leads where the judgement says, with TLS to the name that the URL says. */
import { givenUp, runUntil } from "../effects/deadline.ts";
import { exhaustionAdvice, isExhausted, isOutOfFiles } from "../exhaustion.ts";
import { errorCode } from "../processes/process_error.ts";
import type { Clock } from "../seams.ts";
import { type Dial, dialFirst } from "./dialer.ts";
import { HttpError } from "./http_error.ts";
import type { Resolve } from "./resolver.ts";
import { Socket } from "./socket.ts";
import { originText, type UrlTarget } from "./url_policy.ts";

/** What a connection needs. */
export interface ConnectRequest {
  readonly target: UrlTarget;
  /** Those that were checked. */
  readonly addresses: readonly string[];
  readonly dial: Dial;
  readonly clock: Clock;
  /** Certificates, in PEM, that count besides those of the system. */
  readonly caCerts: readonly string[];
  readonly signal: AbortSignal;
}

/** What asking for a name needs. */
export interface ResolveRequest {
  readonly target: UrlTarget;
  readonly resolve: Resolve;
  readonly clock: Clock;
  readonly dnsMs: number;
  readonly signal: AbortSignal;
}

/** The addresses of a host, or `undefined` if there is no answer in time. A literal address is its own answer. */
export async function resolveTarget(request: ResolveRequest): Promise<readonly string[] | undefined> {
  const { target, resolve, clock, dnsMs, signal } = request;
  if (target.literal) return [target.literal.text];
  const bounds = { clock, deadlineAtMs: clock.now() + dnsMs, signal };
  const ended = await runUntil(bounds, (stop) => resolve(target.host, stop));
  signal.throwIfAborted();
  if (ended.type === "threw" && isOutOfFiles()) throw exhausted(target, ended.error);
  return ended.type === "done" ? ended.value : undefined;
}

/** Connects to one of the checked addresses. The name is not resolved again (DM-76). */
export async function connect(request: ConnectRequest): Promise<Socket> {
  const { target, addresses, dial, clock, signal } = request;
  let dialed;
  try {
    dialed = await dialFirst({ addresses, port: target.port, dial, clock, signal });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof HttpError) throw error;
    if (isExhausted(error)) throw exhausted(target, error);
    const message = `Cannot connect to ${originText(target)}: ${errorCode(error)}`;
    throw new HttpError("http_connect_failed", message, { cause: error, wasSent: false });
  }
  if (target.scheme === "http") return new Socket(dialed.connection, dialed.address);
  return new Socket(await secure(dialed.connection, request), dialed.address);
}

function exhausted(target: UrlTarget, cause: unknown): HttpError {
  const message = `Cannot connect to ${originText(target)}: ${exhaustionAdvice}`;
  return new HttpError("resource_exhausted", message, { cause, wasSent: false });
}

/** TLS for the name in the URL, whatever address is on the other side. */
async function secure(connection: Deno.TcpConn, request: ConnectRequest): Promise<Deno.TlsConn> {
  const { target, caCerts, signal } = request;
  let open: Deno.Conn = connection;
  const close = () => open.close();
  try {
    const tls = await Deno.startTls(connection, {
      hostname: target.host,
      caCerts: [...caCerts],
      alpnProtocols: ["http/1.1"],
    });
    open = tls;
    signal.throwIfAborted();
    signal.addEventListener("abort", close, { once: true });
    await tls.handshake();
    signal.throwIfAborted();
    return tls;
  } catch (error) {
    if (!signal.aborted || open === connection) closeQuietly(open);
    signal.throwIfAborted();
    throw unsecured(originText(target), error);
  } finally {
    signal.removeEventListener("abort", close);
  }
}

const troubles: readonly (readonly [sign: RegExp, what: string])[] = [
  [/not valid for name|NotValidForName/, "its certificate is for another name"],
  [/UnknownIssuer|CaUsedAsEndEntity/, "its certificate comes from an authority that is not known"],
  [/expired|Expired|not valid yet|NotValidYet/, "its certificate is out of date"],
  [/invalid peer certificate/, "its certificate is not accepted"],
];

/** In our words: the message of TLS may hold what the server says of itself. A certificate does not mend itself. */
function unsecured(origin: string, cause: unknown): HttpError {
  const found = troubles.find(([sign]) => sign.test(String(cause)));
  const what = found ? found[1] : `no TLS came about (${errorCode(cause)})`;
  const code = found ? "http_tls_failed" : "http_connect_failed";
  return new HttpError(code, `Cannot secure the connection to ${origin}: ${what}`, { cause, wasSent: false });
}

function closeQuietly(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // It was closed with the attempt.
  }
}

/** Rejects with the signal's reason as soon as it aborts, whatever was started. Starts nothing after an abort. */
export async function unlessAborted<T>(start: () => Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const over = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true, signal: over.signal });
  });
  try {
    return await Promise.race([start(), aborted]);
  } finally {
    over.abort(givenUp);
  }
}
