/** What a model of a test says, before it is put into the words of a wire. */

/** One call. */
export interface ReplyCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: unknown;
}

/** One answer. */
export interface Reply {
  readonly text?: string;
  readonly calls?: readonly ReplyCall[];
  /** What the model thought, with the signature that its vendor wants back. */
  readonly thought?: { readonly text: string; readonly signature: string };
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  /** Signature of the first call, where a vendor signs calls. */
  readonly signature?: string;
}

/** A wire: how a reply is said, and where it is asked for. */
export interface Wire {
  readonly kind: "openai_compatible" | "openai" | "anthropic" | "google";
  /** What is behind the origin in `base_url`. */
  readonly base: string;
  /** The whole stream of a reply, event by event. */
  readonly stream: (reply: Reply) => readonly string[];
  /** A refusal as this vendor writes it. */
  readonly refusal: (type: string, message: string) => unknown;
  /** An error in the middle of the stream. */
  readonly failure: (type: string, message: string) => string;
}

/** One event of a stream. */
export function data(value: unknown, event?: string): string {
  return `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(value)}\n\n`;
}

/** A text in pieces of a few characters. */
export function pieces(text: string, length = 3): readonly string[] {
  const found: string[] = [];
  for (let at = 0; at < text.length; at += length) found.push(text.slice(at, at + length));
  return found;
}
