/** What became of every tool call of a session, read off its journal: what was asked, who allowed it, how it ended. */
import type { Entry } from "../../schemas/entry.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { InvocationOutcome } from "../../schemas/invocation.ts";
import { RetryContext } from "../../schemas/retry.ts";
import { isCall } from "../journal/named_blobs.ts";
import { peek, peekList, peekObject, peekText } from "../peek.ts";

/** One tool call. */
export interface InvocationRow {
  readonly turn: number;
  /** `call/<step>.<i>`, as in the journal. */
  readonly ordinal: string;
  /** The full name once the call was taken from the catalog, before that the name that the model gave. */
  tool: string;
  effect: string;
  /** What it was called with. */
  arguments: JsonObject;
  /** By what a repeat of it is known: the model's id in its step, or the key of the host's command. */
  readonly key: string;
  /** The how manieth call of its tool in its turn (CM-58). */
  number: number;
  /** How a repeat is made harmless, where the class is `conditional` (AR-30). */
  mechanism: string;
  /** Intents of its effect, by their position in the stream, in order; recoveries of one count as attempts too. */
  readonly intents: string[];
  attempts: number;
  /** The final outcome, or `running`, or `waiting` for a person. */
  outcome: InvocationOutcome | "running" | "waiting";
  /** Its attempts after the first: which of how many, and why (AR-28). */
  readonly retries: RetryContext[];
  /** What was decided about it, and by whom, in order. */
  readonly decisions: string[];
  /** Why it did not succeed. */
  why: string;
  /** What it yielded, as its outcome has it; empty if nothing. */
  response: JsonObject;
  /** The failure as data; empty if there is none. */
  error: JsonObject;
  readonly proposedAt: number;
  settledAt: number | undefined;
}

interface Asked {
  readonly row: InvocationRow;
  readonly uncertain: boolean;
}

/** In which order the entries of one crank are read: what began it or ended with it, what it bound, then its asks. */
function placeOf({ kind, type }: Entry): number {
  if (kind === "intent") return 4;
  if (kind !== "note") return 0;
  return type === "tools.bound" ? 1 : type === "turn.planned" ? 2 : 3;
}

/** What a person says of a call that may have happened, as an outcome. */
const settledBy: { readonly [decision: string]: InvocationOutcome | undefined } = {
  mark_applied: "succeeded",
  mark_not_applied: "failed",
  abandon: "unknown",
};

/** Takes the entries of one session in order, and keeps account of its calls. */
export class InvocationFold {
  readonly #rows = new Map<string, InvocationRow>();
  /** Effects and questions that wait for their outcome, by intent. */
  readonly #effects = new Map<string, InvocationRow>();
  readonly #questions = new Map<string, Asked>();
  readonly #inputs = new Map<number, Entry>();
  /** Entries of the crank that is being read. */
  #crank: Entry[] = [];
  #turn = 0;
  #step = 0;

  /** The calls, in the order in which models made them. */
  get rows(): readonly InvocationRow[] {
    this.#endCrank();
    return [...this.#rows.values()];
  }

  take(entry: Entry): void {
    // A crank's notes stand behind what it asked for, but say what that belongs to.
    if (["created", "input", "outcome"].includes(entry.kind)) this.#endCrank();
    this.#crank.push(entry);
  }

  #endCrank(): void {
    const inOrder = this.#crank.toSorted((left, right) => placeOf(left) - placeOf(right));
    this.#crank = [];
    for (const entry of inOrder) this.#read(entry);
  }

  #read(entry: Entry): void {
    const { kind, type } = entry;
    if (kind === "intent") this.#ask(entry);
    else if (kind === "outcome" && type === "model.generate") this.#propose(entry);
    else if (kind === "outcome" && type === "question.ask") this.#decide(entry);
    else if (kind === "outcome" && isCall(type)) this.#settle(entry);
    else if (kind === "input" && type === "session.call") this.#noteInput(entry);
    else if (kind === "note" && type === "attempt") this.#repeat(entry);
    else if (kind === "note" && type === "tools.bound") this.#begin(entry);
    else if (kind === "note" && type === "turn.planned") this.#forgetRepeats(entry);
    else if (kind === "note" && type === "invocation.judged") this.#judge(entry);
    else if (kind === "note" && type === "invocation.retried") this.#retry(entry);
    else if (kind === "reply") this.#endTurn(entry);
  }

  #ask(entry: Entry): void {
    const { type, body } = entry;
    const id = `${entry.cause}.${peekText(body, "n")}`;
    if (type === "model.generate") {
      for (const item of peekList(body, "args", "append")) this.#refuse(item, entry.at);
      this.#turn = Number(peekText(body, "args", "turn"));
      this.#step = Number(peekText(body, "args", "step"));
    }
    if (type === "question.ask") {
      const row = this.#rows.get(peekText(body, "args", "subject", "invocation"));
      if (row === undefined) return;
      row.tool = peekText(body, "args", "subject", "tool");
      row.outcome = "waiting";
      this.#questions.set(id, { row, uncertain: peekText(body, "args", "subject", "kind") === "uncertain" });
    }
    if (!isCall(type)) return;
    const row = this.#rows.get(`turn/${this.#turn}/${peekText(body, "args", "invocation")}`);
    if (row === undefined) return;
    row.tool = peekText(body, "args", "entry", "name");
    row.effect = peekText(body, "effect");
    row.mechanism = peekText(body, "mechanism");
    row.intents.push(id);
    row.attempts += 1;
    row.outcome = "running";
    this.#effects.set(id, row);
  }

  #propose({ at, body }: Entry): void {
    for (const [index, call] of peekList(body, "value", "calls").entries()) {
      this.#add(`call/${this.#step}.${index}`, {
        tool: peekText(call, "name"),
        arguments: peekObject(call, "arguments") as JsonObject,
        key: `${this.#step}/${peekText(call, "callId")}`,
        proposedAt: at,
      });
    }
  }

  /** A turn begins. That of a host's call has this one call, and no model to propose it. */
  #begin({ at, body }: Entry): void {
    this.#turn = Number(peekText(body, "execution").split("/")[1]);
    this.#step = 0;
    const tool = peekText(body, "call");
    const input = this.#inputs.get(Number(peekText(body, "input")));
    this.#inputs.delete(Number(peekText(body, "input")));
    const given = peekObject(input?.body, "message", "call", "arguments") as JsonObject;
    const key = peekText(input?.body, "command", "key");
    if (tool !== "") this.#add("call/0.0", { tool, arguments: given, key, proposedAt: at });
  }

  /** A host's call waits for its turn. */
  #noteInput(entry: Entry): void {
    this.#inputs.set(entry.seq, entry);
  }

  #add(ordinal: string, call: Pick<InvocationRow, "tool" | "arguments" | "key" | "proposedAt">): void {
    this.#rows.set(`turn/${this.#turn}/${ordinal}`, {
      ...call,
      turn: this.#turn,
      ordinal,
      effect: "",
      mechanism: "",
      number: 1,
      intents: [],
      attempts: 0,
      outcome: "running",
      retries: [],
      decisions: [],
      why: "",
      response: {},
      error: {},
      settledAt: undefined,
    });
  }

  /** What an answer says twice under one id is one call. */
  #forgetRepeats({ body }: Entry): void {
    for (const repeat of peekList(body, "repeats")) {
      this.#rows.delete(`turn/${this.#turn}/call/${this.#step}.${peekText(repeat, "position")}`);
    }
  }

  #judge({ body }: Entry): void {
    const row = this.#rows.get(`turn/${this.#turn}/${peekText(body, "ordinal")}`);
    if (row === undefined) return;
    row.tool = peekText(body, "tool");
    row.number = Number(peekText(body, "attempt")) || 1;
  }

  #settle({ at, body }: Entry): void {
    const row = this.#effects.get(peekText(body, "id"));
    if (row === undefined) return;
    this.#effects.delete(peekText(body, "id"));
    const status = peekText(body, "status");
    const isError = peek(body, "value", "isError") === true;
    row.outcome = status === "ok" ? isError ? "completed_with_error" : "succeeded" : outcomeOf(status);
    row.why = peekText(body, "failure", "message");
    row.response = peekObject(body, "value") as JsonObject;
    row.error = peekObject(body, "failure") as JsonObject;
    row.settledAt = at;
  }

  #decide({ at, body }: Entry): void {
    const asked = this.#questions.get(peekText(body, "id"));
    if (asked === undefined) return;
    this.#questions.delete(peekText(body, "id"));
    const { row, uncertain } = asked;
    const decision = peekText(body, "value", "decision") || peekText(body, "failure", "code");
    const by = [peekText(body, "value", "by", "kind"), peekText(body, "value", "by", "id")].join(" ").trim();
    row.decisions.push(by === "" ? decision : `${decision} by ${by}`);
    const settled = uncertain ? settledBy[decision] : undefined;
    row.outcome = settled ?? "running";
    if (settled !== undefined) row.settledAt = at;
  }

  /** A recovery asked an effect again: another attempt of the same intent. */
  #repeat({ body }: Entry): void {
    const row = this.#effects.get(peekText(body, "id"));
    if (row === undefined) return;
    row.attempts += 1;
    keepRetry(row, body);
  }

  /** The machine asks for its effect once more: a new intent follows. */
  #retry({ body }: Entry): void {
    const row = this.#rows.get(`turn/${this.#turn}/${peekText(body, "ordinal")}`);
    if (row !== undefined) keepRetry(row, body);
  }

  /** A call that never reached its tool: the model is told why, and so is the reader. */
  #refuse(item: unknown, at: number): void {
    if (peekText(item, "type") !== "refusal") return;
    const text = peekText(item, "text");
    const [word = "", ...rest] = text.split(": ");
    const row = this.#open().find(({ tool, settledAt }) =>
      settledAt === undefined && isNamed(tool, peekText(item, "name"))
    );
    const outcome = InvocationOutcome.safeParse(word);
    if (row === undefined || !outcome.success) return;
    row.outcome = outcome.data;
    row.why = rest.join(": ");
    row.settledAt = at;
  }

  #open(): readonly InvocationRow[] {
    const step = `call/${this.#step}.`;
    return this.rows.filter(({ turn, ordinal }) => turn === this.#turn && ordinal.startsWith(step));
  }

  /** Nothing of a turn goes on after its end: what was not settled by then was canceled. */
  #endTurn({ at, body }: Entry): void {
    if (peekText(body, "value", "turn") !== String(this.#turn)) return;
    const outcome = InvocationOutcome.safeParse(peekText(body, "value", "call", "outcome")).data;
    const given = outcome === undefined ? undefined : this.#rows.get(`turn/${this.#turn}/call/0.0`);
    if (given !== undefined && outcome !== undefined) {
      given.outcome = outcome;
      given.why = peekText(body, "value", "call", "failure", "message");
      given.settledAt = at;
    }
    for (const row of this.#open()) {
      if (row.outcome !== "running" && row.outcome !== "waiting") continue;
      row.outcome = row.intents.length > 0 && row.why !== "" ? "unknown" : "canceled";
      row.settledAt ??= at;
    }
  }
}

/** Notes of earlier releases say less, and are left out. */
function keepRetry(row: InvocationRow, body: unknown): void {
  const [operation, idempotency] = [peekText(body, "operation"), peekText(body, "idempotency")];
  const [attempt, maxAttempts] = [peek(body, "attempt"), peek(body, "maxAttempts")];
  const lastErrorCode = peekText(body, "lastErrorCode");
  const read = RetryContext.safeParse({ operation, idempotency, attempt, maxAttempts, lastErrorCode });
  if (read.success) row.retries.push(read.data);
}

function outcomeOf(status: string): InvocationOutcome {
  return InvocationOutcome.safeParse(status).data ?? "unknown";
}

/** True if a full name and the name that a model calls may mean one tool. */
function isNamed(tool: string, called: string): boolean {
  return tool === called || tool.replace(/^mcp\.([^.]+)\./, "$1__") === called;
}
