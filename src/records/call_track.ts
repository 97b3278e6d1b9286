/** The calls that a session judged, read off its journal: with what, in which turn, and what was decided. */
import type { Entry } from "../../schemas/entry.ts";
import type { Json, JsonObject } from "../../schemas/json.ts";
import type { RecordedCrank } from "../kernel/feed.ts";
import { peek, peekList, peekObject, peekText } from "../peek.ts";
import { inReadingOrder } from "./crank_order.ts";

/** A call that was judged. */
export interface JudgedCall {
  readonly turn: number;
  /** `call/<step>.<i>`, as in the journal. */
  readonly ordinal: string;
  readonly tool: string;
  /** The catalog of its turn. */
  readonly catalog: string;
  readonly arguments: JsonObject;
  /** True if the host made it, and no model. */
  readonly isHosts: boolean;
  /** What was found about its command; undefined if nobody looked. */
  readonly review: Json | undefined;
  /** The entry that says what was decided. */
  readonly note: Entry;
}

/** Takes the cranks of one session in their order. */
export class CallTrack {
  #turn = 0;
  #step = 0;
  #catalog = "";
  #isHosts = false;
  readonly #given = new Map<string, JsonObject>();
  readonly #inputs = new Map<number, JsonObject>();
  /** Ordinals of calls whose command is being looked at, by intent; and what was found, by ordinal. */
  readonly #looks = new Map<string, string>();
  readonly #reviews = new Map<string, Json>();

  /** The calls that this crank judged. */
  take({ first, rest }: RecordedCrank): readonly JudgedCall[] {
    const judged: JudgedCall[] = [];
    for (const entry of inReadingOrder([first, ...rest])) {
      if (entry.kind === "note" && entry.type === "invocation.judged") judged.push(this.#judged(entry));
      else this.#read(entry);
    }
    return judged;
  }

  #read(entry: Entry): void {
    const { kind, type, seq, cause, body } = entry;
    switch (`${kind} ${type}`) {
      case "input session.call":
      case "input session.invoke":
        this.#inputs.set(seq, peekObject(body, "message", "call", "arguments") as JsonObject);
        return;
      case "note turn.invoked": {
        const given = this.#inputs.get(cause ?? 0);
        if (given !== undefined) this.#given.set(`${this.#turn} ${peekText(body, "ordinal")}`, given);
        return;
      }
      case "note tools.bound":
        return this.#begin(body);
      case "intent model.generate":
        this.#turn = Number(peekText(body, "args", "turn"));
        this.#step = Number(peekText(body, "args", "step"));
        return;
      case "outcome model.generate":
        for (const [index, call] of peekList(body, "value", "calls").entries()) {
          this.#given.set(
            `${this.#turn} call/${this.#step}.${index}`,
            peekObject(call, "arguments") as JsonObject,
          );
        }
        return;
      case "intent command.review":
        this.#looks.set(`${cause}.${peekText(body, "n")}`, peekText(body, "args", "invocation"));
        return;
      case "outcome command.review":
        return this.#reviewed(body);
    }
  }

  #begin(body: Json | undefined): void {
    this.#turn = Number(peekText(body, "execution").split("/")[1]);
    this.#step = 0;
    this.#catalog = peekText(body, "catalog");
    this.#isHosts = peekText(body, "call") !== "";
    const given = this.#inputs.get(Number(peekText(body, "input")));
    if (this.#isHosts && given !== undefined) this.#given.set(`${this.#turn} call/0.0`, given);
  }

  #reviewed(body: Json | undefined): void {
    const ordinal = this.#looks.get(peekText(body, "id"));
    const value = peek(body, "value");
    if (ordinal !== undefined && value !== undefined) this.#reviews.set(`${this.#turn} ${ordinal}`, value);
  }

  #judged(note: Entry): JudgedCall {
    const ordinal = peekText(note.body, "ordinal");
    const place = `${this.#turn} ${ordinal}`;
    return {
      turn: this.#turn,
      ordinal,
      tool: peekText(note.body, "tool"),
      catalog: this.#catalog,
      arguments: this.#given.get(place) ?? {},
      isHosts: this.#isHosts,
      review: this.#reviews.get(place),
      note,
    };
  }
}
