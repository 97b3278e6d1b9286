/**
 * A conversation that is too long for its model, made shorter by rule: old results become references, pairs stay whole,
 * the newest results stay as they are. The same conversation becomes the same, live and in replay.
 */
import type { Json } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import type { ModelMessage } from "../../schemas/model.ts";

type ToolMessage = Extract<ModelMessage, { readonly role: "tool" }>;

/** A result that a model is no longer told of. */
export interface Dropped {
  readonly callId: string;
  readonly name: string;
  readonly characters: number;
  /** The blob that holds the whole of it; absent if there is none: then the journal alone does. */
  readonly digest?: string;
}

/** The note that says what was dropped, and for which request. */
export const compactedNote = "context.compacted";

/** Replaces old results in place; gives those that were replaced. `digestOf`: the blob that holds the whole of a result. */
export function compact(
  messages: ModelMessage[],
  digestOf: (message: ModelMessage) => string | undefined,
): readonly Dropped[] {
  const dropped: Dropped[] = [];
  let kept = 0;
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at];
    if (message?.role !== "tool") continue;
    kept += 1;
    const isNew = kept <= limits.compactionResultsKept;
    if (isNew || message.text.length <= limits.compactionCharactersMin) continue;
    const one = droppedOf(message, digestOf(message));
    messages[at] = { ...message, text: reference(one) };
    dropped.unshift(one);
  }
  return dropped;
}

function droppedOf({ callId, name, text }: ToolMessage, digest: string | undefined): Dropped {
  return { callId, name, characters: text.length, ...(digest === undefined ? {} : { digest }) };
}

function reference({ name, characters, digest }: Dropped): string {
  const where = digest === undefined
    ? "call the tool again if you need it"
    : `read_result ${digest} shows it`;
  return `[the result of ${name}, ${characters} characters, was left out to make room: ${where}]`;
}

/** The note's body. At most so many are named. */
export function compactedBody(
  { intent, turn, step, dropped }: {
    readonly intent: string;
    readonly turn: number;
    readonly step: number;
    readonly dropped: readonly Dropped[];
  },
): { readonly [key: string]: Json } {
  return {
    intent,
    turn,
    step,
    count: dropped.length,
    characters: dropped.reduce((sum, { characters }) => sum + characters, 0),
    dropped: dropped.slice(0, limits.compactionNotedMax).map((one) => ({ ...one })),
  };
}
