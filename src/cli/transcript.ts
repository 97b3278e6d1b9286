/** The transcript of a turn as it happens: the model's words, its stages, and a card for each call. */
import type { Entry } from "../../schemas/entry.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { previewArguments } from "../../actors/preview.ts";
import type { HostEvent } from "../host/host.ts";
import type { TurnReport } from "../turn_report.ts";
import { isCall, isPaused } from "../journal/named_blobs.ts";
import { visible } from "../tools/visible.ts";
import { continuationText } from "./continuation_text.ts";
import { entryText } from "./entry_text.ts";
import { answerFor } from "../records/entry_view.ts";
import { operatorAsModel } from "../redact/mark_places.ts";
import { peek, peekList, peekObject, peekText } from "../peek.ts";
import { cutTo, durationText } from "./table.ts";
import { safeText, type Terminal } from "./terminal.ts";
import { toldAtOnce, waitLabel } from "./wait_label.ts";

/** Hears a turn and shows it. */
export interface TurnView {
  hear(event: HostEvent): void;
  /** Shows a line of our own. */
  note(text: string): void;
  /** What has been going on for more than a second, in short. */
  status(nowMs: number): string | undefined;
  end(report: TurnReport): void;
}

/** Longest preview of a call's arguments in its card, and of all that stands behind it, in characters. */
const argumentsCharactersMax = 60;
const restCharactersMax = 160;
const statusAfterMs = 1_000;
/** What ends the wait for servers. */
const renewalAnswers = new Set(["catalog.issued", "catalog.refused"]);
/** Stands among the running intents for the wait for servers. */
const renewal = "renewal";

/** Shows a turn to a person. */
export function createTranscript(terminal: Terminal): TurnView {
  return new Transcript(terminal);
}

interface Running {
  readonly entry: Entry;
  readonly label: string;
  /** What it said last of how far it is. Provisional: it stands in no entry. */
  notice?: string;
}

/** The plan of one model answer, as far as it was shown. */
interface Plan {
  readonly stages: readonly (readonly string[])[];
  shown: number;
}

class Transcript implements TurnView {
  readonly #terminal: Terminal;
  /** Intents that wait for their outcome, by id. */
  readonly #running = new Map<string, Running>();
  /** Text that was shown as it came, by the intent that asked for it: provisional until its outcome (K12). */
  readonly #streamed = new Map<string, string>();
  /** Text of an intent that is not durable yet: what came before it in the journal is shown first. */
  readonly #early = new Map<string, string>();
  /** Half of a character that came at the end of a delta. */
  #half = "";
  #plan: Plan = { stages: [], shown: 0 };
  /** Calls of the plan that reached a tool: they have cards. */
  readonly #reached = new Set<string>();
  #startedAt: number | undefined;
  #endedAt = 0;
  #calls = 0;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  hear(event: HostEvent): void {
    switch (event.type) {
      case "entries":
        for (const entry of event.entries) this.#take(entry);
        break;
      case "progress":
        this.#progress(event);
        break;
      case "quarantined":
        this.note(`The session is quarantined: ${event.reason}`);
        break;
      case "question":
        break; // Whoever asks the person shows it.
    }
  }

  note(text: string): void {
    this.#terminal.err.line(this.#terminal.err.style.yellow(safeText(text)));
  }

  status(nowMs: number): string | undefined {
    const long = [...this.#running.values()].filter((one) => nowMs - one.entry.at >= statusAfterMs);
    const since = Math.min(...long.map((one) => one.entry.at));
    if (long.length === 0) return undefined;
    const words = long.map(({ label, notice }) => notice === undefined ? label : `${label}: ${notice}`);
    return `${words.join(", ")} (${Math.floor((nowMs - since) / 1_000)} s)`;
  }

  end(report: TurnReport): void {
    if (report.turn === 0) return; // None began: the error says why.
    const { out } = this.#terminal;
    const took = this.#startedAt === undefined ? "" : `, ${durationText(this.#endedAt - this.#startedAt)}`;
    const words = `turn ${report.turn} ${report.outcome}: ${counted(report.steps, "step")}, ${
      counted(this.#calls, "call")
    }${took}`;
    out.line(report.outcome === "completed" ? out.style.green(words) : out.style.red(words));
  }

  #take(entry: Entry): void {
    this.#endedAt = entry.at;
    const { kind, type, body } = entry;
    if (kind === "input" && (type === "session.prompt" || type === "session.call")) {
      this.#startedAt ??= entry.at;
    }
    if (kind === "note" && type === "turn.planned") this.#noteStages(entry);
    if (kind === "note" && toldAtOnce.has(type)) this.note(entryText(entry));
    if (kind === "note" && (type === "server.answered" || type === "tool.answered")) this.#noteUnheard(entry);
    if (kind === "message" && type === "catalog.renew") this.#connect(entry);
    if (kind === "input" && renewalAnswers.has(type)) this.#connected(entry);
    if (kind === "intent") this.#ask(entry);
    if (kind !== "outcome") return;
    const asked = this.#running.get(peekText(body, "id"));
    this.#running.delete(peekText(body, "id"));
    if (type === "model.generate") this.#answer(entry);
    if (isCall(type) && asked !== undefined && !isPaused(body)) this.#card(asked, entry);
    if (type === "question.ask" && asked !== undefined) this.#decided(asked, entry);
  }

  /** Servers are started before the first turn, and after they failed: that may take its time. */
  #connect(entry: Entry): void {
    const names = peekList(entry.body, "message", "servers").map((server) => peekText(server, "server"));
    if (names.length > 0) this.#running.set(renewal, { entry, label: `connecting to ${names.join(", ")}` });
  }

  #connected({ at, body }: Entry): void {
    const asked = this.#running.get(renewal);
    if (asked === undefined || peek(body, "message", "renewal") === 0) return;
    this.#running.delete(renewal);
    const { out } = this.#terminal;
    const took = durationText(at - asked.entry.at);
    for (const report of peekList(body, "message", "servers")) {
      const name = visible(peekText(report, "server"));
      const tools = counted(Number(peekText(report, "tools")), "tool");
      const rejected = Number(peekText(report, "rejected"));
      const left = rejected === 0 ? "" : `, ${rejected} left out`;
      const why = peekText(report, "failure", "message");
      const [mark, words] = why === ""
        ? [out.style.green("✓"), out.style.dim(`${took}  ${tools}${left}`)]
        : [out.style.red("✗"), visible(`${peekText(report, "failure", "code")}: ${why}`)];
      out.line(`  ${mark} ${out.style.bold(name)}  ${words}`);
    }
  }

  #noteStages({ body }: Entry): void {
    const stages = peekList(body, "stages").map((stage) =>
      peekList(stage, "members").map((member) => peekText(member, "ordinal"))
    );
    this.#plan = { stages, shown: 0 };
    this.#reached.clear();
  }

  #ask(entry: Entry): void {
    const { type, body } = entry;
    const args = peek(body, "args");
    const id = `${entry.cause}.${peekText(body, "n")}`;
    if (type === "model.generate") {
      this.#showRefusals(peekList(args, "append"));
      const again = continuationText(args);
      if (again !== undefined) this.note(again);
      this.#running.set(id, { entry, label: "the model answers" });
      const early = this.#early.get(id);
      this.#early.clear(); // Of older attempts nobody will hear again.
      if (early !== undefined) this.#stream(id, early);
    }
    if (isCall(type)) {
      const invocation = peekText(args, "invocation");
      if (!this.#reached.has(invocation)) this.#calls += 1; // Another attempt is no other call.
      this.#reached.add(invocation);
      this.#showStage(invocation);
      this.#running.set(id, { entry, label: peekText(args, "entry", "name") });
    }
    const label = waitLabel(type, args);
    if (label !== undefined) this.#running.set(id, { entry, label });
  }

  /** Calls that never reached a tool have no outcome of their own: the model is told why, and so is the person. */
  #showRefusals(append: readonly unknown[]): void {
    const { out } = this.#terminal;
    // What a step adds to the conversation is in the order of its calls, as the plan is.
    const ordinals = this.#plan.stages.flat();
    for (const [index, item] of append.entries()) {
      if (peekText(item, "type") !== "refusal" || this.#reached.has(ordinals[index] ?? "")) continue;
      this.#calls += 1;
      const [outcome = "", ...rest] = peekText(item, "text").split(": ");
      const why = rest.length === 0 ? outcome : `${outcome}  ${rest.join(": ")}`;
      out.line(`  ${out.style.red("✗")} ${visible(peekText(item, "name"))}  ${visible(why)}`);
    }
  }

  #showStage(ordinal: string): void {
    const { stages } = this.#plan;
    const number = stages.findIndex((members) => members.includes(ordinal)) + 1;
    if (number <= this.#plan.shown) return;
    this.#plan.shown = number;
    const members = stages[number - 1]?.length ?? 0;
    if (stages.length === 1 && members === 1) return;
    const { out } = this.#terminal;
    const how = members === 1 ? "1 call" : `${members} calls at once`;
    out.line(out.style.dim(`  stage ${number} of ${stages.length}: ${how}`));
  }

  #progress(event: Extract<HostEvent, { readonly type: "progress" }>): void {
    const { progress, id } = event;
    const running = this.#running.get(id);
    if (progress.type === "tool" && running !== undefined) running.notice = progress.message;
    if (progress.type !== "model" || progress.event.type !== "text_delta") return;
    if (running !== undefined) this.#stream(id, progress.event.text);
    else this.#early.set(id, (this.#early.get(id) ?? "") + progress.event.text);
  }

  #stream(id: string, delta: string): void {
    const { out } = this.#terminal;
    if (!this.#streamed.has(id)) out.line("");
    this.#streamed.set(id, (this.#streamed.get(id) ?? "") + delta);
    const text = this.#half + delta;
    const last = text.charCodeAt(text.length - 1);
    const isHalf = last >= 0xd800 && last <= 0xdbff;
    this.#half = isHalf ? text.slice(-1) : "";
    out.write(safeText(isHalf ? text.slice(0, -1) : text));
  }

  #answer({ body }: Entry): void {
    const { out } = this.#terminal;
    const id = peekText(body, "id");
    const streamed = this.#streamed.get(id);
    this.#streamed.delete(id);
    const half = this.#half;
    this.#half = "";
    const failure = peek(body, "failure");
    if (failure !== undefined) {
      out.line(
        `  ${out.style.red("✗")} model  ${
          visible(`${peekText(failure, "code")}: ${peekText(failure, "message")}`)
        }`,
      );
      return;
    }
    const text = answerFor("operator", body);
    if (text === "") return;
    // What was streamed is the same text, with names in its marks, unless the answer that counts is another attempt's.
    if (streamed !== undefined && operatorAsModel(streamed) === operatorAsModel(text)) {
      out.write(`${safeText(half)}\n`);
    } else out.line(`${streamed === undefined ? "\n" : ""}${safeText(text)}`);
  }

  #card(asked: Running, { at, body }: Entry): void {
    const { out } = this.#terminal;
    const failure = peek(body, "failure");
    const isError = peek(body, "value", "isError") === true;
    const outcome = failure !== undefined ? peekText(body, "status") : isError ? "completed_with_error" : "";
    const said = failure === undefined
      ? peekText(body, "value", "operator").replace(`${asked.label.replace(/^mcp\.[^.]*\./, "")}: `, "")
      : `${peekText(failure, "code")}: ${peekText(failure, "message")}`;
    const mark = outcome === "" ? out.style.green("✓") : out.style.red("✗");
    const given = previewArguments(peekObject(asked.entry.body, "args", "arguments") as JsonObject);
    const name = `${visible(asked.label)} ${cutTo(given, argumentsCharactersMax)}`;
    const took = durationText(at - asked.entry.at);
    const rest = [took, outcome, visible(said)].filter((part) => part !== "").join("  ");
    const room = out.isTerminal ? Math.max(this.#terminal.columns - name.length - 8, 30) : restCharactersMax;
    out.line(`  ${mark} ${out.style.bold(name)}  ${out.style.dim(cutTo(rest, room))}`);
  }

  /** A server or the agent asked, and no person answered. */
  #noteUnheard(entry: Entry): void {
    const via = peekText(entry.body, "via");
    if (via !== "answered" && via !== "canceled") {
      const asker = entry.type === "tool.answered" ? "The agent" : "A server";
      this.note(`${asker} asked: ${entryText(entry)}`);
    }
  }

  #decided(asked: Running, { body }: Entry): void {
    const { out } = this.#terminal;
    const tool = visible(peekText(asked.entry.body, "args", "subject", "tool"));
    const by = [peekText(body, "value", "by", "kind"), peekText(body, "value", "by", "id")].join(" ").trim();
    const decision = peekText(body, "value", "decision") || peekText(body, "failure", "code");
    out.line(`  ? ${tool}  ${out.style.bold(visible(decision))}${by === "" ? "" : ` by ${visible(by)}`}`);
  }
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
