/** The session that a server keeps for us by HTTP: its id, which every later request names (CM-66), and its end. */
import type { McpEnd } from "../../schemas/effect.ts";
import { failure, retryableFailure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import { type McpEra, modernRevision } from "../../schemas/mcp_revision.ts";
import type { GuardedClient } from "../net/guarded_client.ts";
import { HttpError } from "../net/http_error.ts";
import { AnswerLostError } from "./asked.ts";

/** Where a session is, and what every request to it says besides; the protocol's own headers win. */
export interface HttpPlace {
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly fetch: GuardedClient["fetch"];
}

/** How a session was given back (CM-73). */
type Goodbye = NonNullable<McpEnd["goodbye"]>;

const unended = "The MCP server did not say that it ended its session";

function goodbyeOf({ ok, status }: Response): Goodbye {
  if (ok || status === 404) return ok;
  const why = retryableFailure("mcp_unavailable", `${unended} (status ${status})`);
  return { ...why, classification: "transport", details: { http_status: status } };
}

/** One session with one server. */
export class HttpSession {
  /** The revision that was agreed on; empty before. */
  protocolVersion = "";
  /** How it was given back, once it was. */
  goodbye: Goodbye | undefined;
  /** What the server answered to the first request: to `initialize`, or to `server/discover`. */
  initialized: unknown = undefined;
  readonly #place: HttpPlace;
  #id: string | null = null;
  #era: McpEra = "legacy";

  constructor(place: HttpPlace) {
    this.#place = place;
  }

  /** Begins anew, in the words of an era. */
  begin(era: McpEra): void {
    this.#era = era;
    this.#id = null;
    this.initialized = undefined;
    this.protocolVersion = era === "modern" ? modernRevision : "";
  }

  get era(): McpEra {
    return this.#era;
  }

  /** Null if the server opened none, or it is over. The modern era has no sessions. */
  get id(): string | null {
    return this.#id;
  }

  /** The headers of a request that accepts `types`. */
  headers(types: string): Headers {
    const headers = new Headers(this.#place.headers);
    headers.delete("mcp-session-id");
    headers.delete("mcp-protocol-version");
    headers.delete("last-event-id");
    if (this.#id !== null) headers.set("mcp-session-id", this.#id);
    if (this.protocolVersion !== "") headers.set("mcp-protocol-version", this.protocolVersion);
    headers.set("accept", types);
    return headers;
  }

  /**
   * Notes the session that an answer names: that of the first answer counts, and none that comes later takes its place.
   * False if this one named another. Throws {@linkcode AnswerLostError} if no header can carry it.
   */
  note({ headers }: Response): boolean {
    const named = this.#era === "modern" ? null : headers.get("mcp-session-id");
    if (named === null || named === this.#id) return true;
    if (this.initialized !== undefined) return false;
    if (named.length > limits.mcpSessionIdCharactersMax || !/^[\x21-\x7e]+$/.test(named)) {
      const message = "The MCP server named a session that no header can carry";
      throw new AnswerLostError(failure("mcp_protocol_error", message));
    }
    this.#id = named;
    return true;
  }

  /** The server does not know it any more (CM-81). */
  forget(): void {
    this.#id = null;
  }

  /** Gives it back (CM-69, CM-73). A server may refuse, or have forgotten it: it is over either way. */
  async end(): Promise<void> {
    if (this.#id === null) return;
    this.goodbye = await this.#giveBack();
  }

  async #giveBack(): Promise<Goodbye> {
    const headers = this.headers("application/json");
    this.#id = null;
    const { fetch, url } = this.#place;
    const totalMs = limits.mcpDeleteMs;
    try {
      const response = await fetch(url, { method: "DELETE", headers, redirect: "manual" }, { totalMs });
      await response.body?.cancel();
      return goodbyeOf(response);
    } catch (error) {
      // Whoever cannot be reached cannot be told.
      const why = error instanceof HttpError ? error.failure : retryableFailure("mcp_unavailable", unended);
      return { ...why, classification: "transport" };
    }
  }
}
