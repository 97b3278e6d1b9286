/** Folds a session's entries into what can be read of it later: who it belongs to, its turns, and what was said in them. */
import { z } from "zod";
import type { Entry } from "../../schemas/entry.ts";
import type { ModelMessage } from "../../schemas/model.ts";
import { Principal, principalText } from "../../schemas/principal.ts";
import { peekList, peekText } from "../peek.ts";
import type { PastMessage } from "../tools/tool.ts";
import { ConversationFold } from "./conversation_fold.ts";

const Created = z.looseObject({ input: z.looseObject({ principal: Principal }) });

/** What is known of a message besides its words. */
interface Mark {
  readonly turn: number;
  readonly atMs: number;
  /** True for what no person said: news of the runtime, and prompts that another root gave, as a schedule does. */
  readonly isNotice: boolean;
}

/** The past of one session, built entry by entry. */
export class HistoryFold {
  /** Whom the session belongs to; undefined before its first entry, and if that does not say. */
  owner: string | undefined;
  turns = 0;
  entries = 0;
  beganAtMs = 0;
  lastAtMs = 0;
  readonly #fold = new ConversationFold();
  /** One for each message of the conversation, in its order. */
  readonly #marks: Mark[] = [];
  /** Where prompts stand that another root gave. */
  readonly #fromRoots = new Set<string>();

  take(entry: Entry): void {
    this.entries += 1;
    this.lastAtMs = entry.at;
    if (entry.kind === "created") {
      const { data } = Created.safeParse(entry.body);
      this.owner = data === undefined ? undefined : principalText(data.input.principal);
      this.beganAtMs = entry.at;
    }
    if (entry.type === "session.prompt" && peekText(entry.body, "sender") !== "") {
      this.#fromRoots.add(String(entry.seq));
    }
    this.turns = Math.max(this.turns, turnIn(entry));
    this.#fold.take(entry);
    const { length } = this.#fold.messages;
    if (length < this.#marks.length) this.#marks.length = length;
    // What a step adds comes last, item by item.
    const added = entry.kind === "intent" ? peekList(entry.body, "args", "append") : [];
    while (this.#marks.length < length) {
      const item = added[this.#marks.length - (length - added.length)];
      const isNotice = item !== undefined &&
        (peekText(item, "type") === "notice" || this.#fromRoots.has(peekText(item, "seq")));
      this.#marks.push({ turn: this.turns, atMs: entry.at, isNotice });
    }
  }

  /** What was said, oldest first; the agent's instructions are not part of it. */
  get messages(): readonly PastMessage[] {
    return this.#fold.messages.flatMap((message, place) => {
      const mark = this.#marks[place];
      if (mark === undefined) return [];
      const { turn, atMs, isNotice } = mark;
      const who = isNotice ? "runtime" : whoSays(message);
      return who === undefined ? [] : [{ turn, atMs, who, text: message.text }];
    });
  }
}

/** The turn that an entry begins or goes on with; 0 if it tells of none. A host's call is a turn without a model. */
function turnIn({ kind, type, body }: Entry): number {
  if (kind === "intent" && type === "model.generate") return Number(peekText(body, "args", "turn"));
  if (kind !== "note" || type !== "tools.bound") return 0;
  const turn = Number(peekText(body, "execution").split("/")[1]);
  return Number.isInteger(turn) ? turn : 0;
}

function whoSays(message: ModelMessage): string | undefined {
  switch (message.role) {
    case "user":
      return "person";
    case "assistant":
      return message.text === "" ? undefined : "agent";
    case "tool":
      return `tool ${message.name}`;
    case "system":
      return undefined;
  }
}
