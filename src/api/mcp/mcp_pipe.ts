/**
 * The actor API as MCP on a pipe, for the program that started this process. The first message says which era of the
 * protocol is spoken. The end of input and {@linkcode McpPipe.drain} end it alike: what was accepted is answered.
 */
import { apiLimits } from "../../../schemas/api_limits.ts";
import { peekList, peekText } from "../../peek.ts";
import { type JSONRPCMessage, serveStdio } from "../../mcp/sdk_server.ts";
import { ServerTransport, type ServerTransportParts } from "../../mcp/server_transport.ts";
import type { Caller } from "../caller.ts";
import { createApiServer, type McpApiServer, type McpServerParts } from "./mcp_server.ts";
import { SessionWatches } from "./session_watches.ts";

/** What it is made of. */
export interface McpPipeParts extends Omit<McpServerParts, "piped"> {
  /** Who speaks at the other end. */
  readonly caller: Caller;
  readonly input: ServerTransportParts["input"];
  /** Nobody else may write to it. */
  readonly output: ServerTransportParts["output"];
}

/** Speaks with one program. */
export class McpPipe {
  readonly #parts: McpPipeParts;
  readonly #asked = Promise.withResolvers<null>();
  readonly #late = new AbortController();
  readonly #servers: McpApiServer[] = [];
  /** What listeners of the newer era listen to, by the id of their request. */
  readonly #listeners = new Map<unknown, SessionWatches>();
  #timing: Promise<void> | undefined;

  constructor(parts: McpPipeParts) {
    this.#parts = parts;
  }

  /** Asks it to end: nothing more is read. A second time, it hurries. */
  drain(): void {
    if (this.#timing !== undefined) this.#late.abort();
    this.#asked.resolve(null);
    this.#beginToEnd();
  }

  /** Resolves at the end. Rejects if the input could not be read on. */
  async run(): Promise<void> {
    const transport = new ServerTransport({
      input: { read: (buffer) => this.#read(buffer) },
      output: this.#parts.output,
      messageBytesMax: apiLimits.bodyBytesMax,
    });
    transport.onheard = (message) => this.#heard(message);
    const { caller, seams } = this.#parts;
    const piped = { caller, late: this.#late.signal };
    const handle = serveStdio(() => {
      const made = createApiServer({ ...this.#parts, piped });
      this.#servers.push(made);
      return made.server;
    }, {
      transport,
      onerror: (error) => {
        const detail = { message: String(error).slice(0, 500) };
        seams.log({ level: "info", event: "api.mcp_refused", detail });
      },
    });
    try {
      await transport.ended;
    } finally {
      for (const { end } of this.#servers) await end();
      for (const watches of this.#listeners.values()) await watches.endAll();
      await handle.close();
    }
  }

  /** Reads, until the input ends or nothing more is to be read. */
  async #read(buffer: Uint8Array): Promise<number | null> {
    const count = await Promise.race([this.#parts.input.read(buffer), this.#asked.promise]);
    if (count === null) this.#beginToEnd();
    return count;
  }

  /** A turn goes on without its asker, so an `ask` answers after so long that it does. */
  #beginToEnd(): void {
    const { clock } = this.#parts.seams;
    this.#timing ??= clock.sleepUntil(clock.now() + apiLimits.drainMs, this.#late.signal)
      .then(() => this.#late.abort());
  }

  /** The SDK tells listeners of what it is told, and not what they listen to. */
  #heard(message: JSONRPCMessage): void {
    if (!("method" in message)) return;
    const { method, params } = message;
    if (method === "notifications/cancelled") {
      const id = params?.["requestId"];
      void this.#listeners.get(id)?.endAll();
      this.#listeners.delete(id);
    }
    if (method !== "subscriptions/listen" || !("id" in message)) return;
    const { api, caller, seams } = this.#parts;
    const watches = new SessionWatches(api, seams.clock);
    this.#listeners.set(message.id, watches);
    for (const uri of peekList(params, "notifications", "resourceSubscriptions")) {
      if (typeof uri !== "string") continue;
      const tell = () => this.#servers.at(-1)?.server.sendResourceUpdated({ uri });
      watches.begin(uri, caller, tell).catch((error) => {
        const detail = { message: `${peekText(error, "code")} ${String(error)}`.trim().slice(0, 500) };
        seams.log({ level: "info", event: "api.mcp_refused", detail });
      });
    }
  }
}
