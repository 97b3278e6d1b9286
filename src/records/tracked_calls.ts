/** How far every tool call of a session is: as its entries come, and as its tools say while they run (LC-17). */
import type { Entry } from "../../schemas/entry.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { isCall, isPaused } from "../journal/named_blobs.ts";
import { beginsCrank, inReadingOrder } from "./crank_order.ts";
import { peek, peekList, peekObject, peekText } from "../peek.ts";

/** Waits for its stage or a person; is being made; has ended; its result was given back to whoever asked for it. */
export type Progress = "queued" | "executing" | "completed" | "yielded";

/** One tool call. */
export interface TrackedCall {
  /** `turn/<n>/call/<step>.<i>`. */
  readonly id: string;
  /** The name that the model called, or the host. */
  readonly name: string;
  progress: Progress;
  /** True if it may run beside its neighbours (LC-16). */
  isParallelSafe: boolean;
  /** What it said last of how far it is. Provisional: it stands in no entry, and goes once there is a result. */
  notice: string | undefined;
  /** What it yielded, as its outcome has it; undefined if nothing. */
  result: JsonObject | undefined;
  /** What it changes of the session's state: merged after its stage, in the model's order (LC-19). */
  changes: readonly JsonObject[];
}

/** Intents whose notices are kept before they are read: an answer has at most 64 calls. */
const earlyMax = 64;

/** Takes the entries of one session in order, and the notices of its running calls. */
export class TrackedCalls {
  readonly #calls = new Map<string, TrackedCall>();
  /** The newest intent of each call that is being made, and the outcomes that nobody was given yet, by intent. */
  readonly #made = new Map<string, TrackedCall>();
  /** Calls of the newest answer by the model's own ids: what never reached a tool has no intent. */
  readonly #byCallId = new Map<string, TrackedCall>();
  /** What was said under intents that were not read yet: what is harmless starts before its entry is durable. */
  readonly #early = new Map<string, string>();
  /** Entries of the crank that is being read. */
  #crank: Entry[] = [];
  #turn = 0;
  #step = 0;

  /** All calls, in the order in which they were asked for. */
  get calls(): readonly TrackedCall[] {
    this.#endCrank();
    return [...this.#calls.values()];
  }

  take(entry: Entry): void {
    if (beginsCrank(entry)) this.#endCrank();
    this.#crank.push(entry);
  }

  #endCrank(): void {
    const crank = inReadingOrder(this.#crank);
    this.#crank = [];
    for (const entry of crank) this.#read(entry);
  }

  #read(entry: Entry): void {
    const { kind, type, body } = entry;
    if (kind === "note" && type === "tools.bound") this.#begin(body);
    else if (kind === "note" && type === "turn.planned") this.#plan(body);
    else if (kind === "note" && type === "turn.invoked") this.#invoke(body);
    else if (kind === "intent" && type === "model.generate") this.#yield(body);
    else if (kind === "intent" && isCall(type)) this.#make(entry);
    else if (kind === "outcome" && type === "model.generate") this.#queue(body);
    else if (kind === "outcome" && isCall(type) && !isPaused(body)) this.#settle(body);
    else if (kind === "reply") this.#end(body);
  }

  /** What a running call says, by the intent of its effect. */
  hear(intent: string, notice: string): void {
    this.#endCrank();
    const call = this.#made.get(intent);
    if (call === undefined && this.#early.size < earlyMax) this.#early.set(intent, notice);
    if (call?.progress === "executing") call.notice = notice;
  }

  #begin(body: unknown): void {
    this.#turn = Number(peekText(body, "execution").split("/")[1]);
    const tool = peekText(body, "call");
    if (tool !== "") this.#add("call/0.0", tool, "");
  }

  /** A program opened a call beside those of the step. */
  #invoke(body: unknown): void {
    this.#add(peekText(body, "ordinal"), peekText(body, "tool"), "");
  }

  #queue(body: unknown): void {
    this.#byCallId.clear();
    for (const [index, call] of peekList(body, "value", "calls").entries()) {
      this.#add(`call/${this.#step}.${index}`, peekText(call, "name"), peekText(call, "callId"));
    }
  }

  #add(ordinal: string, name: string, callId: string): TrackedCall {
    const id = `turn/${this.#turn}/${ordinal}`;
    const call = this.#calls.get(id) ?? {
      id,
      name,
      progress: "queued",
      isParallelSafe: false,
      notice: undefined,
      result: undefined,
      changes: [],
    };
    this.#calls.set(id, call);
    if (callId !== "" && !this.#byCallId.has(callId)) this.#byCallId.set(callId, call);
    return call;
  }

  #plan(body: unknown): void {
    for (const stage of peekList(body, "stages")) {
      for (const member of peekList(stage, "members")) {
        const call = this.#calls.get(`turn/${this.#turn}/${peekText(member, "ordinal")}`);
        if (call !== undefined) call.isParallelSafe = peekText(stage, "kind") === "parallel_safe_group";
      }
    }
    // A call that the answer makes twice is one call: its first place has it.
    for (const repeat of peekList(body, "repeats")) {
      this.#calls.delete(`turn/${this.#turn}/call/${this.#step}.${peekText(repeat, "position")}`);
    }
  }

  #make(entry: Entry): void {
    const { cause, body } = entry;
    const call = this.#calls.get(`turn/${this.#turn}/${peekText(body, "args", "invocation")}`);
    if (call === undefined) return;
    const intent = `${cause}.${peekText(body, "n")}`;
    call.progress = "executing";
    call.notice = this.#early.get(intent);
    this.#early.delete(intent);
    this.#made.set(intent, call);
  }

  #settle(body: unknown): void {
    const call = this.#made.get(peekText(body, "id"));
    if (call === undefined) return;
    call.notice = undefined;
    if (peek(body, "value", "pause") !== undefined) return; // Its server wants something first.
    call.progress = "completed";
    if (peek(body, "value") === undefined) return;
    const result = peekObject(body, "value") as JsonObject;
    call.result = result;
    call.changes = result["isError"] === true ? [] : peekList(result, "changes") as readonly JsonObject[];
  }

  /** The next request to the model has what became of the calls of its last answer. */
  #yield(body: unknown): void {
    const args = peek(body, "args");
    for (const item of peekList(args, "append")) {
      const call = this.#made.get(peekText(item, "outcome")) ?? this.#byCallId.get(peekText(item, "callId"));
      if (call !== undefined) call.progress = "yielded";
    }
    this.#turn = Number(peekText(args, "turn"));
    this.#step = Number(peekText(args, "step"));
    this.#made.clear();
  }

  /** A turn is over: a host has its call's result, and what was stopped is not given to anybody. */
  #end(body: unknown): void {
    if (peekText(body, "value", "turn") !== String(this.#turn)) return;
    const given = peek(body, "value", "call") === undefined ? undefined : `turn/${this.#turn}/call/0.0`;
    for (const call of this.#calls.values()) {
      if (!call.id.startsWith(`turn/${this.#turn}/`) || call.progress === "yielded") continue;
      call.progress = call.id === given ? "yielded" : "completed";
    }
    this.#made.clear();
    this.#early.clear();
  }
}
