/** One run of a session as what can be compared with another run: no times, no ids, no positions, no folders. */
import { ResolvedCatalog } from "../../schemas/catalog.ts";
import type { Entry } from "../../schemas/entry.ts";
import type { Json, JsonObject } from "../../schemas/json.ts";
import { shelvedHashIn } from "../journal/named_blobs.ts";
import { peek, peekText } from "../peek.ts";

/** Something that happened in a run. */
export interface RunEvent {
  /** What it is in its run; the same key in another run means the same. */
  readonly key: string;
  /** For people: kind, type, and what it belongs to. */
  readonly label: string;
  readonly seq: number;
  readonly body: Json;
}

/** Numbers that say when, where in the stream, or in which runtime. */
const volatileNumber = /^(?:at|seq|cause|epoch|input|tookMs|wall_ms|[a-zA-Z]*(?:AtMs|DurationMs|ElapsedMs))$/;
/** Texts that say where a session is at home, and whose store it is in. */
const volatileText = /^(?:home|cwd|installation)$/;
/** What tools and models were given and said: all of it counts, whatever its fields are called. */
const foreign = /^(?:arguments|structured|structuredContent|content|definition|inputSchema)$/;
/** An id that was minted: a prefix and a ULID. */
const minted = /\b([a-z]{3,5})_[0-9A-HJKMNP-TV-Z]{26}\b/g;
const position = /^[1-9][0-9]*\.[0-9]+$/;

/** Takes the entries of a session in their order. Catalogs that they name are given to it as they are needed. */
export class RunFold {
  readonly events: RunEvent[] = [];
  readonly #catalogOf: (hash: string) => Promise<Json | undefined>;
  /** How often each key came so far: a second one is the second of its kind. */
  readonly #times = new Map<string, number>();
  /** Keys of intents by their position. */
  readonly #intents = new Map<string, string>();
  readonly #ids = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  readonly #catalogs = new Map<string, string>();
  #turn = "";

  constructor(catalogOf: (hash: string) => Promise<Json | undefined>) {
    this.#catalogOf = catalogOf;
  }

  async take(entry: Entry): Promise<void> {
    const { kind, type, body, seq } = entry;
    // It is no part of the run that other code took over.
    if (kind === "checkpoint") return;
    if (kind === "note" && type === "tools.bound") this.#turn = peekText(body, "execution");
    if (kind === "intent" && type === "model.generate") this.#turn = `turn/${peekText(body, "args", "turn")}`;
    const hash = shelvedHashIn(entry);
    const tools = hash === undefined ? undefined : toolsOf(await this.#catalogOf(hash));
    if (hash !== undefined && !this.#catalogs.has(hash)) {
      this.#catalogs.set(hash, `catalog ${this.#catalogs.size + 1}`);
    }
    const { key, label } = this.#keyOf(entry);
    if (kind === "intent") this.#intents.set(`${entry.cause}.${peekText(body, "n")}`, key);
    const told = this.#plain(tools === undefined ? body ?? null : { ...Object(body), tools });
    this.events.push({ key, label, seq, body: told });
  }

  #keyOf(entry: Entry): { readonly key: string; readonly label: string } {
    const label = this.#labelOf(entry);
    const times = (this.#times.get(label) ?? 0) + 1;
    this.#times.set(label, times);
    return { key: times === 1 ? label : `${label} (${times})`, label };
  }

  #labelOf({ kind, type, body }: Entry): string {
    if (kind === "outcome") {
      const intent = this.#intents.get(peekText(body, "id")) ?? type;
      return `outcome of ${intent.replace(/^intent /, "")}`;
    }
    const ordinal = peekText(body, "args", "invocation") || peekText(body, "args", "subject", "invocation") ||
      peekText(body, "ordinal");
    const step = kind === "intent" && type === "model.generate"
      ? `step/${peekText(body, "args", "step")}`
      : "";
    const place = ordinal || step;
    const inTurn = place === "" ? "" : ` ${this.#turn}/${place}`;
    return `${kind} ${type}${inTurn}`;
  }

  /** `depth` counts from the body; null inside what is not ours. */
  #plain(value: Json, depth: number | null = 0): Json {
    if (typeof value === "string") return this.#plainText(value);
    if (typeof value !== "object" || value === null) return value;
    const below = depth === null ? null : depth + 1;
    if (Array.isArray(value)) return value.map((item: Json) => this.#plain(item, below));
    const fields = Object.entries(value)
      .filter(([name, item]) =>
        depth === null || !isVolatile({ name, item, depth, among: value as JsonObject })
      );
    return Object.fromEntries(fields.map(([name, item]) => {
      return [this.#plainText(name), this.#plain(item, foreign.test(name) ? null : below)];
    }));
  }

  #plainText(text: string): string {
    if (position.test(text)) return this.#intents.get(text) ?? text;
    return this.#catalogs.get(text) ?? text.replace(minted, (id, prefix: string) => {
      const known = this.#ids.get(id);
      if (known !== undefined) return known;
      const count = (this.#counts.get(prefix) ?? 0) + 1;
      this.#counts.set(prefix, count);
      this.#ids.set(id, `${prefix}_${count}`);
      return `${prefix}_${count}`;
    });
  }
}

interface Field {
  readonly name: string;
  readonly item: Json;
  readonly depth: number;
  readonly among: JsonObject;
}

function isVolatile({ name, item, depth, among }: Field): boolean {
  if (typeof item === "number") return volatileNumber.test(name) || (depth === 0 && name === "n");
  if (typeof item !== "string") return false;
  // The hash of the machines stands beside what they are; the hash of an entry beside its catalog, which is compared.
  if (name === "code") return "machine" in among;
  if (name === "hash") return "catalog" in among && "name" in among;
  if (name === "key") return "principal" in among;
  // The outcome's own intent is in its key.
  if (name === "id") return depth === 0 && position.test(item);
  return volatileText.test(name);
}

/** A catalog's entries by name, without the hashes that follow from the rest. */
function toolsOf(value: Json | undefined): JsonObject | undefined {
  const catalog = ResolvedCatalog.safeParse(value);
  if (!catalog.success) return undefined;
  const entries = (peek(value, "entries") ?? []) as readonly JsonObject[];
  return Object.fromEntries(entries.map((entry) => {
    const { hash: _hash, coreRevision: _revision, ...rest } = entry;
    return [peekText(entry, "canonicalName"), rest];
  }));
}
