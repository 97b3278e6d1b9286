/** What became of every tool call of a session, read off its journal: what was asked, who allowed it, how it ended. */
import type { Entry } from "../../schemas/entry.ts";
import { toolStatus } from "../../actors/tool_status.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { InvocationOutcome } from "../../schemas/invocation.ts";
import { ToolError } from "../../schemas/tool_error.ts";
import { isCall, isPaused } from "../journal/named_blobs.ts";
import { beginsCrank, inReadingOrder } from "./crank_order.ts";
import { errorIn, refusalOf, settledBy, whoRefuses } from "./call_error.ts";
import { peek, peekList, peekObject, peekText } from "../peek.ts";
import { entryIn, secretsOf } from "./entry_view.ts";
import type { InvocationRow } from "./invocation_row.ts";
import { keepRetry } from "./kept_retry.ts";

interface Asked {
  readonly row: InvocationRow;
  readonly uncertain: boolean;
}

/** Takes the entries of one session in order, and keeps account of its calls. */
export class InvocationFold {
  readonly #rows = new Map<string, InvocationRow>();
  /** Effects and questions that wait for their outcome, by intent. */
  readonly #effects = new Map<string, InvocationRow>();
  readonly #questions = new Map<string, Asked>();
  readonly #inputs = new Map<number, Entry>();
  /** The attempt that each call is in. */
  readonly #attempts = new WeakMap<InvocationRow, number>();
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
    if (beginsCrank(entry)) this.#endCrank();
    this.#crank.push(entry);
  }

  #endCrank(): void {
    const crank = inReadingOrder(this.#crank);
    this.#crank = [];
    for (const entry of crank) this.#read(entry);
  }

  #read(entry: Entry): void {
    const { kind, type } = entry;
    if (kind === "intent") this.#ask(entry);
    else if (kind === "outcome" && type === "model.generate") this.#propose(entry);
    else if (kind === "outcome" && type === "question.ask") this.#decide(entry);
    else if (kind === "outcome" && isCall(type) && !isPaused(entry.body)) this.#settle(entry);
    else if (kind === "input" && isGiven(type)) this.#inputs.set(entry.seq, entry);
    else if (kind === "note" && type === "attempt") this.#repeat(entry);
    else if (kind === "note" && type === "tools.bound") this.#begin(entry);
    else if (kind === "note" && type === "turn.planned") this.#forgetRepeats(entry);
    else if (kind === "note" && type === "turn.invoked") this.#invoke(entry);
    else if (kind === "note" && type === "invocation.refused") this.#endRefused(entry);
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
    if (type !== "mcp.task") row.effect = peekText(body, "effect");
    if (type !== "mcp.task") row.mechanism = peekText(body, "mechanism");
    row.intents.push(id);
    // Looking after a call is no other attempt at it; a further round belongs to the attempt before it, unless that failed.
    const attempt = Number(peekText(body, "args", "attempt")) || 1;
    const isSame = peek(body, "args", "round") !== undefined && this.#attempts.get(row) === attempt;
    if (type !== "mcp.task" && !isSame) row.attempts += 1;
    this.#attempts.set(row, attempt);
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

  /** A program opened a call beside those of the step. */
  #invoke({ at, cause, body }: Entry): void {
    const input = this.#inputs.get(cause ?? 0);
    const given = peekObject(input?.body, "message", "call", "arguments") as JsonObject;
    const key = peekText(input?.body, "command", "key");
    const tool = peekText(body, "tool");
    this.#add(peekText(body, "ordinal"), { tool, arguments: given, key, proposedAt: at });
  }

  #endRefused({ at, body }: Entry): void {
    const row = this.#rows.get(`turn/${this.#turn}/${peekText(body, "ordinal")}`);
    if (row === undefined) return;
    const outcome = outcomeOf(peekText(body, "outcome"));
    end(row, outcome, refusalOf(Object(body), outcome));
    row.why = peekText(body, "message");
    row.settledAt = at;
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
      status: undefined,
      error: undefined,
      why: "",
      response: {},
      secrets: [],
      settledAt: undefined,
    });
  }

  /** What an answer says twice under one id is one call. */
  #forgetRepeats({ body }: Entry): void {
    for (const repeat of peekList(body, "repeats")) {
      this.#rows.delete(`turn/${this.#turn}/call/${this.#step}.${peekText(repeat, "position")}`);
    }
  }

  #judge({ at, body }: Entry): void {
    const row = this.#rows.get(`turn/${this.#turn}/${peekText(body, "ordinal")}`);
    if (row === undefined) return;
    row.tool = peekText(body, "tool");
    row.number = Number(peekText(body, "attempt")) || 1;
    const [first] = peekList(body, "checks");
    if (peekText(first, "check") !== "budget") return;
    // The budget may end the turn before the model is told.
    row.why = peekText(first, "why");
    end(row, "denied", refusalOf({ code: "budget_exceeded", message: row.why }, "denied"));
    row.settledAt = at;
  }

  #settle(entry: Entry): void {
    const { at, type, body } = entry;
    const row = this.#effects.get(peekText(body, "id"));
    if (row === undefined) return;
    this.#effects.delete(peekText(body, "id"));
    // That a task was not looked after to its end says nothing of what it did.
    const isDoubtful = type === "mcp.task" && row.effect !== "idempotent" &&
      peekText(body, "status") !== "ok";
    const status = isDoubtful ? "unknown" : peekText(body, "status");
    const isError = peek(body, "value", "isError") === true;
    const outcome = status === "ok" ? isError ? "completed_with_error" : "succeeded" : outcomeOf(status);
    const error = ToolError.safeParse(
      status === "ok" ? peek(body, "value", "error") : errorIn(body, outcome),
    );
    end(row, outcome, error.data);
    row.why = peekText(body, "failure", "message");
    row.response = peekObject(entryIn("event", entry).body, "value") as JsonObject;
    row.secrets = secretsOf(body);
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
    row.outcome = "running";
    row.status = undefined;
    if (settled === undefined) return;
    end(row, settled, settled === "succeeded" ? undefined : row.error);
    row.settledAt = at;
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
    if (peekText(item, "type") !== "refusal" || peekText(item, "code") === "budget_exceeded") return;
    const text = peekText(item, "text");
    const [word = "", ...rest] = text.split(": ");
    const row = this.#open().find(({ tool, settledAt }) =>
      settledAt === undefined && isNamed(tool, peekText(item, "name"))
    );
    const outcome = InvocationOutcome.safeParse(word);
    if (row === undefined || !outcome.success) return;
    const error = ToolError.safeParse({
      code: peekText(item, "code"),
      message: rest.join(": "),
      started: row.intents.length > 0 && row.error?.started === true,
      provenance: row.error?.provenance ?? { by: whoRefuses(outcome.data, peekText(item, "code")) },
    });
    end(row, outcome.data, error.data);
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
      const failure = Object(peek(body, "value", "call", "failure"));
      const error = given.error ?? refusalOf(failure, outcome);
      end(given, outcome, error);
      given.why = peekText(body, "value", "call", "failure", "message");
      given.settledAt = at;
    }
    for (const row of this.#open()) {
      if (row.outcome !== "running" && row.outcome !== "waiting") continue;
      end(row, row.intents.length > 0 && row.why !== "" ? "unknown" : "canceled", row.error);
      row.settledAt ??= at;
    }
  }
}

function end(row: InvocationRow, outcome: InvocationOutcome, error: ToolError | undefined): void {
  row.outcome = outcome;
  row.error = error;
  row.status = toolStatus(outcome, error?.started ?? outcome === "unknown");
}

/** True for a message that says what somebody besides the model calls. */
function isGiven(type: string): boolean {
  return type === "session.call" || type === "session.invoke";
}

function outcomeOf(status: string): InvocationOutcome {
  return InvocationOutcome.safeParse(status).data ?? "unknown";
}

/** True if a full name and the name that a model calls may mean one tool. */
function isNamed(tool: string, called: string): boolean {
  return tool === called || tool.replace(/^mcp\.([^.]+)\./, "$1__") === called;
}
