/** Folds a session's entries into what a step may need tools for, and what its model was told of last (AR-14). */
import { type Exposure, type Wishes } from "../../actors/exposure.ts";
import { ExposureBudget } from "../../schemas/agent.ts";
import type { Entry } from "../../schemas/entry.ts";
import type { Json } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import type { HistoryItem, ModelAnswer, ModelCall } from "../../schemas/model.ts";

/** The note that says what a model was told of, written when it is not what the step before was told. */
export const exposedNote = "turn.exposed";

/** What a session's exposure depends on besides its catalog. The same entries give the same, always. */
export class ExposureFold {
  budget: ExposureBudget = {};
  /** The intent that is being carried out, or was last. */
  intent = "";
  /** What the model was told of last: see {@linkcode exposureKey}. */
  told = "";
  readonly #prompts = new Map<number, string>();
  #turn = 0;
  #step = 0;
  #prompt = "";
  #called: readonly string[] = [];
  #queries: readonly string[] = [];
  readonly #before = new Set<string>();

  /** What the step at hand may need tools for. */
  get wishes(): Wishes {
    return {
      prompt: this.#prompt,
      called: this.#called,
      calledBefore: [...this.#before],
      queries: this.#queries,
    };
  }

  /** The step at hand, as the note names it. */
  get step(): { readonly turn: number; readonly step: number } {
    return { turn: this.#turn, step: this.#step };
  }

  /** Takes the next entry. */
  take(entry: Entry): void {
    switch (`${entry.kind} ${entry.type}`) {
      case "input session.prompt": {
        const { message } = entry.body as { readonly message: { readonly text?: string } };
        return void this.#prompts.set(entry.seq, message.text ?? "");
      }
      case "intent model.generate":
        return this.#begin(entry);
      case "outcome model.generate":
        return this.#noteCalls(entry.body);
      case `note ${exposedNote}`:
        this.told = keyOf(entry.body as { readonly [key: string]: Json });
        return;
      default:
        if (entry.kind === "created") this.budget = budgetIn(entry.body);
    }
  }

  #begin({ cause, body }: Entry): void {
    const { n, args } = body as unknown as {
      readonly n: number;
      readonly args: {
        readonly turn: number;
        readonly step: number;
        readonly append: readonly HistoryItem[];
      };
    };
    this.intent = `${cause}.${n}`;
    this.#step = args.step;
    if (args.turn === this.#turn) return;
    this.#turn = args.turn;
    this.#endTurn();
    const prompt = args.append.find((item) => item.type === "prompt");
    this.#prompt = prompt === undefined ? "" : this.#prompts.get(prompt.seq) ?? "";
    for (const seq of this.#prompts.keys()) {
      if (prompt !== undefined && seq <= prompt.seq) this.#prompts.delete(seq);
    }
  }

  #endTurn(): void {
    for (const name of this.#called) {
      this.#before.delete(name);
      this.#before.add(name);
    }
    for (const oldest of this.#before) {
      if (this.#before.size <= limits.toolsCalledNotedMax) break;
      this.#before.delete(oldest);
    }
    this.#called = [];
    this.#queries = [];
  }

  #noteCalls(body: unknown): void {
    const { status, value } = body as { readonly status: string; readonly value?: ModelAnswer };
    if (status !== "ok" || value === undefined || value.calls.length === 0) return;
    this.#called = [...new Set([...this.#called, ...value.calls.map(({ name }) => name)])];
    this.#queries = [...new Set([...this.#queries, ...value.calls.flatMap(queryOf)])];
  }
}

/** What a model looked for with `tools_list`: the next step tells it of what was found. */
function queryOf({ name, arguments: input }: ModelCall): readonly string[] {
  const query = name === "tools_list" ? input?.["query"] : undefined;
  return typeof query === "string" ? [query] : [];
}

function budgetIn(body: unknown): ExposureBudget {
  const { input } = body as { readonly input?: { readonly agent?: { readonly exposure?: unknown } } };
  return ExposureBudget.safeParse(input?.agent?.exposure).data ?? {};
}

/** One step's exposure, to be noted. */
export interface ExposedStep {
  readonly intent: string;
  readonly turn: number;
  readonly step: number;
  readonly catalog: string;
  readonly exposure: Exposure;
}

/** The body of the note: the names, unless all enabled tools of the catalog were told. */
export function exposedBody({ exposure, ...step }: ExposedStep): { readonly [key: string]: Json } {
  const { isWhole, names } = exposure;
  return { ...step, exposed: names.length, ...(isWhole ? { whole: true } : { names: [...names] }) };
}

/** Equal for two notes that say the same of what a model was told. */
export function keyOf({ catalog, names }: { readonly [key: string]: Json }): string {
  return Array.isArray(names) ? `${catalog} ${names.join(" ")}` : `${catalog}`;
}

/** The key of an exposure under a catalog, as its note would have it. */
export function exposureKey(catalog: string, { isWhole, names }: Exposure): string {
  return isWhole ? catalog : `${catalog} ${names.join(" ")}`;
}
