/** `session_search`: what was said before, in this session or in others of the same owner (DM-129, DM-130, DM-16). */
import { z } from "zod";
import { failure } from "../../schemas/failure.ts";
import { RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import type { ToolResultEnvelope } from "../../schemas/tool.ts";
import {
  type ArchiveEnd,
  type BuiltinTool,
  defineTool,
  errorEnvelope,
  type PastMessage,
  type PastSession,
  textEnvelope,
  type ToolUseContext,
} from "./tool.ts";
import { head, visible } from "./visible.ts";

const input = z.strictObject({
  query: z.string().min(1).max(limits.historyQueryCharactersMax).optional()
    .describe("Words that must all stand in one message; leave it out to list sessions, or to read one"),
  session: z.string().min(1).max(limits.idBytesMax).optional()
    .describe("Id of one session, as a list shows it: with no query, its turns are read from the first on"),
  scope: z.enum(["session", "all"]).default("session")
    .describe("session: this session alone; all: every session of the same owner, where the host lets you"),
  limit: z.int().min(1).max(limits.historyResultsMax).default(limits.historyResultsDefault)
    .describe("Most results"),
  offset: z.int().min(0).max(100_000).default(0).describe(
    "Results to leave out, to go on where a list ended",
  ),
});
type Input = z.output<typeof input>;

/** Reads the past. The texts are the journal's: what was taken out of it as secret is not in them. */
export const sessionSearch: BuiltinTool = defineTool({
  name: "session_search",
  title: "Search earlier conversations",
  description:
    "Lists sessions, reads one, or finds words in what was said, newest first. Of a long message a part is shown.",
  resource: { kind: "session", scope: "owner" },
  capability: "session.read",
  parallelSafe: false,
  // More than a look at the workspace: what was said elsewhere comes in, so each search is approved for itself.
  reach: { riskLevel: "medium", effectClass: "idempotent", approvalPolicy: "prompt" },
  inputSchema: input,
  run: async (wanted, use) => {
    const { sessions } = use;
    if (sessions === undefined) {
      return errorEnvelope(failure("tool_failed", "Cannot search sessions: this runtime keeps none"));
    }
    if (wanted.scope === "all" && !sessions.mayReadAll) {
      const message =
        "The host lets a session read itself alone: search with scope session, or ask the operator " +
        "for session_search.scope: operator";
      return errorEnvelope(failure("history_scope_refused", message));
    }
    if (wanted.query !== undefined) return await search(wanted.query, wanted, use);
    return wanted.session === undefined ? await browse(wanted, use) : await readOne(wanted, use);
  },
});

/** The sessions that a call may read, within its bounds; `end` is how that ended, once it did. */
class Reading {
  end: ArchiveEnd = { unreadable: 0 };
  readonly #wanted: Input;
  readonly #use: ToolUseContext;

  constructor(wanted: Input, use: ToolUseContext) {
    this.#wanted = wanted;
    this.#use = use;
  }

  async *sessions(): AsyncGenerator<PastSession> {
    const { session, scope } = this.#wanted;
    const { signal, deadlineAtMs, sessions } = this.#use;
    const only = session === undefined ? {} : { only: addressOf(session) };
    const wish = { all: scope === "all", ...only, signal, deadlineAtMs };
    if (sessions !== undefined) this.end = yield* sessions.read(wish);
  }

  /** What must be said of what was not read. */
  notes(): readonly string[] {
    const { cut, unreadable } = this.end;
    return [
      ...(cut === undefined ? [] : [`[cut: ${cut}; older sessions were not looked at]`]),
      ...(unreadable === 0 ? [] : [`[${unreadable} sessions are damaged and were left out]`]),
    ];
  }
}

/** What is no address names no session. */
function addressOf(session: string): RootAddress {
  const address = RootAddress.safeParse(session.startsWith("session/") ? session : `session/${session}`);
  return address.success ? address.data : RootAddress.parse("session/none");
}

async function browse(wanted: Input, use: ToolUseContext): Promise<ToolResultEnvelope> {
  const reading = new Reading(wanted, use);
  const lines: string[] = [];
  let place = 0;
  for await (const past of reading.sessions()) {
    if (lines.length === wanted.limit) {
      lines.push(`[more: go on with offset ${wanted.offset + wanted.limit}]`);
      break;
    }
    if (place++ < wanted.offset) continue;
    const { turns, beganAtMs, lastAtMs, isCut } = past;
    const count = `${turns}${isCut ? " or more" : ""} ${turns === 1 && !isCut ? "turn" : "turns"}`;
    lines.push(head(`${nameOf(past)}, ${count}, ${timeOf(beganAtMs)} to ${timeOf(lastAtMs)}`, resultMax));
  }
  return told(lines, "[no session]", reading);
}

async function readOne(wanted: Input, use: ToolUseContext): Promise<ToolResultEnvelope> {
  const reading = new Reading(wanted, use);
  for await (const past of reading.sessions()) {
    const { messages } = past;
    const shown = messages.slice(wanted.offset, wanted.offset + wanted.limit);
    const next = wanted.offset + shown.length;
    const lines = shown.map((message) => resultOf(past, message, { text: excerpt(message.text, 0) }));
    if (next < messages.length) {
      lines.push(`[more: ${messages.length - next} messages; go on with offset ${next}]`);
    }
    if (past.isCut) lines.push("[cut: its end was not read]");
    return told(lines, "[nothing was said from there on]", reading);
  }
  return unknown(wanted, reading);
}

async function search(query: string, wanted: Input, use: ToolUseContext): Promise<ToolResultEnvelope> {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const reading = new Reading(wanted, use);
  const lines: string[] = [];
  let place = 0;
  let isAny = false;
  reading: for await (const past of reading.sessions()) {
    isAny = true;
    for (const message of past.messages.toReversed()) {
      const at = firstOf(message.text, words);
      if (at === undefined || place++ < wanted.offset) continue;
      if (lines.length === wanted.limit) {
        lines.push(`[more: go on with offset ${wanted.offset + wanted.limit}]`);
        break reading;
      }
      lines.push(resultOf(past, message, { text: excerpt(message.text, at) }));
    }
  }
  if (!isAny && wanted.session !== undefined) return unknown(wanted, reading);
  return told(lines, "[nothing found]", reading);
}

/** Where the first of the words stands; undefined unless all of them do. */
function firstOf(text: string, words: readonly string[]): number | undefined {
  const lower = text.toLowerCase();
  const places = words.map((word) => lower.indexOf(word));
  return places.some((place) => place < 0) ? undefined : Math.min(...places);
}

/** A session that is not there, and one that may not be read, look the same. */
function unknown({ session = "" }: Input, reading: Reading): ToolResultEnvelope {
  const notes = reading.notes().map((note) => ` ${note}`).join("");
  const message = `There is no session "${
    head(visible(session), 60)
  }" that you may read: list them with no query`;
  return errorEnvelope(failure("session_unknown", `${message}${notes}`));
}

function told(lines: readonly string[], nothing: string, reading: Reading): ToolResultEnvelope {
  return textEnvelope([...(lines.length === 0 ? [nothing] : lines), ...reading.notes()].join("\n"));
}

const resultMax = limits.historyResultCharactersMax;

/** One message: where it stands, then its words, each line of them set in, so that none can pass for another result. */
function resultOf(
  past: PastSession,
  { turn, atMs, who }: PastMessage,
  { text }: { readonly text: string },
): string {
  const heading = `${nameOf(past)}, turn ${turn}, ${visible(who)}, ${timeOf(atMs)}:`;
  return `${heading}\n${text.split("\n").map((line) => `  ${line}`).join("\n")}`;
}

function nameOf({ address, title }: PastSession): string {
  return `${address.replace("session/", "")} (${head(visible(title), 60)})`;
}

function timeOf(atMs: number): string {
  return new Date(atMs).toISOString().replace(/\.\d+Z$/, "Z");
}

/** At most 800 characters of a text (DM-17), with what stands at `at` among them. */
function excerpt(text: string, at: number): string {
  if (text.length <= resultMax) return text;
  const room = resultMax - 2;
  const from = Math.max(0, Math.min(at - Math.floor(room / 4), text.length - room));
  const piece = text.slice(from, from + room).replace(/^[\udc00-\udfff]/, "");
  return `${from > 0 ? "…" : ""}${head(piece, room)}${from + room < text.length ? "…" : ""}`;
}
