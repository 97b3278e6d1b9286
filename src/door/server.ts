/** The owner's door: listens on loopback, lets in who shows the token (design.md section 7). */
import { limits } from "../../schemas/limits.ts";
import type { ActingHost } from "../host/host.ts";
import type { Seams } from "../seams.ts";
import { Connection } from "./connection.ts";
import { writeAll } from "./write_all.ts";
import { createToken } from "./token.ts";

/** An open door. */
export interface Door {
  readonly port: number;
  readonly token: string;
  /** True while a client waits for the end of a turn. */
  readonly isBusy: boolean;
  /** Resolves once no client waits for the end of a turn. */
  idle(): Promise<void>;
  /**
   * Closes the door and every connection. Whoever follows something first gets what was said until now, unless it is
   * closed in a hurry.
   */
  close(options?: { readonly hurry?: boolean }): Promise<void>;
}

/** Options of {@linkcode openDoor}. */
export interface DoorOptions {
  readonly host: ActingHost;
  readonly seams: Seams;
  /** Clients at once. By default and at most `limits.doorConnectionsMax`. */
  readonly connectionsMax?: number;
}

/** Pause after a connection that could not be accepted, in milliseconds: the system may be short of descriptors. */
const acceptPauseMs = 100;

/** Opens a door on 127.0.0.1, at a port that the system chooses, with a fresh token. */
export async function openDoor(options: DoorOptions): Promise<Door> {
  const token = await createToken();
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return new OpenDoor(options, token, listener);
}

class OpenDoor implements Door {
  readonly port: number;
  readonly token: string;
  readonly #options: DoorOptions;
  readonly #listener: Deno.TcpListener;
  readonly #connections = new Set<Connection>();
  readonly #serving = new Set<Promise<void>>();
  readonly #accepting: Promise<void>;
  #prompts = 0;
  #whenIdle: (() => void)[] = [];
  #isClosed = false;

  constructor(options: DoorOptions, token: string, listener: Deno.TcpListener) {
    this.#options = options;
    this.token = token;
    this.#listener = listener;
    this.port = listener.addr.port;
    this.#accepting = this.#accept();
  }

  get isBusy(): boolean {
    return this.#prompts > 0;
  }

  idle(): Promise<void> {
    if (!this.isBusy) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  async close({ hurry = false }: { readonly hurry?: boolean } = {}): Promise<void> {
    if (!this.#isClosed) this.#listener.close();
    this.#isClosed = true;
    if (!hurry) await Promise.all([...this.#connections].map((connection) => connection.finish()));
    for (const connection of this.#connections) connection.close();
    await this.#accepting;
    await Promise.all(this.#serving);
  }

  async #accept(): Promise<void> {
    const { clock } = this.#options.seams;
    while (!this.#isClosed) {
      try {
        this.#admit(await this.#listener.accept());
      } catch (error) {
        if (this.#isClosed) return;
        this.#options.seams.log({
          level: "warning",
          event: "door.accept_failed",
          detail: { message: String(error) },
        });
        await clock.sleepUntil(clock.now() + acceptPauseMs);
      }
    }
  }

  #admit(connection: Deno.Conn): void {
    const max = Math.min(this.#options.connectionsMax ?? Infinity, limits.doorConnectionsMax);
    const serving = this.#connections.size >= max ? refuse(connection, max) : this.#serve(connection);
    this.#serving.add(serving);
    serving.finally(() => this.#serving.delete(serving));
  }

  async #serve(connection: Deno.Conn): Promise<void> {
    const { host, seams } = this.#options;
    const client = new Connection({
      connection,
      host,
      token: this.token,
      seams,
      onPrompt: (one) => this.#count(one),
    });
    this.#connections.add(client);
    await client.serve();
    this.#connections.delete(client);
  }

  #count(change: 1 | -1): void {
    this.#prompts += change;
    if (this.isBusy) return;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }
}

async function refuse(connection: Deno.Conn, max: number): Promise<void> {
  const message = `The owner serves ${max} clients already: try again later`;
  const line = `${JSON.stringify({ id: 0, type: "error", code: "door_busy", message })}\n`;
  try {
    await writeAll(connection, new TextEncoder().encode(line));
    connection.close();
  } catch {
    // It left before it was told.
  }
}
