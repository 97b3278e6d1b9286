/** Reads a stream of server-sent events: bounded, strict about its text, in time linear in its size (CM-72). */
import { limits } from "../../schemas/limits.ts";
import { LineSplitter } from "../processes/lines.ts";

/** One event. */
export interface ServerEvent {
  /** Empty for one that says nothing of its type: a message. */
  readonly type: string;
  readonly data: string;
  /** The id to resume behind, if the event has one that a header can carry. */
  readonly id: string | undefined;
  /** How long to wait before the stream is opened again, if the event says so. Milliseconds. */
  readonly retryMs: number | undefined;
}

/** A stream that brings more than it may. */
export class EventFloodError extends Error {
  override readonly name = "EventFloodError";
}

/** Ids that are kept: visible ASCII, so that a header can carry them back. */
const idForm = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/**
 * The events of a stream. Lines end with a line feed, with or without a carriage return before it. Comments and unknown
 * fields are passed over; an event without data is told of only if it has an id or a wait. What stands after the last
 * blank line is no event. Throws what reading throws, `LineTooLongError`, {@linkcode EventFloodError}, and `TypeError`
 * for bytes that are no UTF-8. Ending it early cancels the stream. How long it may be is for whoever opened it to bound.
 */
export async function* readEvents(
  stream: ReadableStream<Uint8Array>,
  eventsMax: number = limits.mcpStreamEventsMax,
): AsyncGenerator<ServerEvent> {
  const lines = new LineSplitter(limits.mcpMessageBytesMax);
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const event = new EventFields();
  let events = 0;
  for await (const chunk of stream) {
    for (const line of lines.push(chunk)) {
      const made = event.take(decoder.decode(line));
      if (made === undefined) continue;
      if (++events > eventsMax) {
        throw new EventFloodError(`more than ${eventsMax} events`);
      }
      yield made;
    }
  }
}

/** The fields of the event that is being read. */
class EventFields {
  #data: string[] = [];
  #dataCharacters = 0;
  #type = "";
  #id: string | undefined;
  #retryMs: number | undefined;

  /** Takes a line; gives the event that a blank line completes. */
  take(line: string): ServerEvent | undefined {
    if (line === "") return this.#complete();
    const colon = line.indexOf(":");
    if (colon === 0) return undefined;
    const name = colon < 0 ? line : line.slice(0, colon);
    const rest = colon < 0 ? "" : line.slice(colon + 1);
    this.#set(name, rest.startsWith(" ") ? rest.slice(1) : rest);
    return undefined;
  }

  #set(name: string, value: string): void {
    switch (name) {
      case "data":
        this.#dataCharacters += value.length + 1;
        if (this.#dataCharacters > limits.mcpMessageBytesMax) {
          throw new EventFloodError(`an event of more than ${limits.mcpMessageBytesMax} bytes`);
        }
        this.#data.push(value);
        break;
      case "event":
        this.#type = value.slice(0, 200);
        break;
      case "id":
        if (value.length <= limits.mcpEventIdCharactersMax && idForm.test(value)) this.#id = value;
        break;
      case "retry":
        if (/^\d{1,9}$/.test(value)) this.#retryMs = Number(value);
        break;
    }
  }

  #complete(): ServerEvent | undefined {
    const event = { type: this.#type, data: this.#data.join("\n"), id: this.#id, retryMs: this.#retryMs };
    const isEmpty = this.#data.length === 0 && event.id === undefined && event.retryMs === undefined;
    this.#data = [];
    this.#dataCharacters = 0;
    this.#type = "";
    this.#id = undefined;
    this.#retryMs = undefined;
    return isEmpty ? undefined : event;
  }
}
