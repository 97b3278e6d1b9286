/** Which ports of a root wait for something, as its entries alone tell it: no machine runs for it. */
import type { CheckpointBody, Entry } from "../../schemas/entry.ts";
import type { JsonObject } from "../../schemas/json.ts";

/** A request that has no outcome yet. */
export interface OpenPort {
  /** Its position: `<seq>.<n>` (K2). */
  readonly id: string;
  /** Kind of the port: `tool.call`, `timer.set`. */
  readonly port: string;
  readonly args: JsonObject;
}

interface PortBody {
  readonly n?: number;
  readonly id?: string;
  readonly args?: JsonObject;
}

/** True for the entries whose bodies say that something began to wait, or does no more. */
export function movesPorts({ kind, type }: Pick<Entry, "kind" | "type">): boolean {
  return kind === "intent" || kind === "outcome" || kind === "checkpoint" ||
    (kind === "note" && type === "dropped");
}

/** Follows the entries of one stream, bodies put back, and keeps what is open behind each. */
export class OpenPorts {
  readonly #open = new Map<string, OpenPort>();

  take({ kind, type, body, cause }: Entry): void {
    const { n, id = "", args = {} } = (body ?? {}) as PortBody;
    if (kind === "intent") {
      const own = `${cause}.${n}`;
      this.#open.set(own, { id: own, port: type, args });
    } else if (kind === "outcome" || (kind === "note" && type === "dropped")) {
      this.#open.delete(id);
    } else if (kind === "checkpoint") {
      const kept = new Set((body as unknown as CheckpointBody).open);
      for (const one of this.#open.keys()) if (!kept.has(one)) this.#open.delete(one);
    }
  }

  list(): readonly OpenPort[] {
    return [...this.#open.values()];
  }
}
