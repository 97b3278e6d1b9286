/** What every tool call comes to, in the same six words whatever its source (LC-26). */
import type { Entry } from "../../schemas/entry.ts";
import { limits } from "../../schemas/limits.ts";
import { peek, peekList, peekText } from "../peek.ts";
import { head } from "../tools/visible.ts";
import type { InvocationRow } from "./invocation_row.ts";

/** A call in short. */
export interface CallSummary {
  /** The kind of its source; null if no tool of its turn has its name. */
  readonly source: string | null;
  /** The MCP server; null for every other source. */
  readonly server: string | null;
  /** As its source calls it. */
  readonly tool: string;
  readonly risk: string | null;
  readonly status: InvocationRow["outcome"];
  /** The beginning of what it yielded, without secrets; of what went wrong if it yielded nothing. */
  readonly preview: string;
}

/** What a catalog says of one tool. */
type Known = Pick<CallSummary, "source" | "server" | "tool" | "risk">;

/** Sums up the calls of one session, by the catalogs that its turns were bound to. */
export class CallSummaries {
  readonly #readBlob: (digest: string) => Promise<Uint8Array>;
  readonly #catalogOfTurn = new Map<number, string>();
  readonly #catalogs = new Map<string, Promise<ReadonlyMap<string, Known>>>();

  constructor(readBlob: (digest: string) => Promise<Uint8Array>) {
    this.#readBlob = readBlob;
  }

  /** Takes the entries of the session in order. */
  take({ kind, type, body }: Entry): void {
    if (kind !== "note" || type !== "tools.bound") return;
    this.#catalogOfTurn.set(Number(peekText(body, "execution").split("/")[1]), peekText(body, "catalog"));
  }

  async of({ turn, tool, outcome, response, why }: InvocationRow): Promise<CallSummary> {
    const known = (await this.#catalogFor(turn)).get(tool) ??
      { source: null, server: null, tool, risk: null };
    const yielded = peekText(response, "event") || peekText(response, "model");
    return { ...known, status: outcome, preview: head(yielded || why, limits.callPreviewCharactersMax) };
  }

  #catalogFor(turn: number): Promise<ReadonlyMap<string, Known>> {
    const hash = this.#catalogOfTurn.get(turn) ?? "";
    const found = this.#catalogs.get(hash) ?? this.#read(hash);
    this.#catalogs.set(hash, found);
    return found;
  }

  async #read(hash: string): Promise<ReadonlyMap<string, Known>> {
    if (hash === "") return new Map();
    const catalog = JSON.parse(new TextDecoder().decode(await this.#readBlob(hash)));
    return new Map(
      peekList(catalog, "entries").flatMap((entry) => {
        const known = knownOf(entry);
        return ["canonicalName", "providerName"].map((name) => [peekText(entry, name), known] as const);
      }),
    );
  }
}

function knownOf(entry: unknown): Known {
  const source = peekText(entry, "sourceKind");
  const [, server = null] = source === "mcp"
    ? /^mcp\.([^.]+)\./.exec(peekText(entry, "canonicalName")) ?? []
    : [];
  return {
    source,
    server,
    tool: peekText(entry, "definition", "name"),
    risk: peek(entry, "definition", "riskLevel") === undefined
      ? null
      : peekText(entry, "definition", "riskLevel"),
  };
}
