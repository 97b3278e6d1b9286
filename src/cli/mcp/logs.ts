/** `troupe mcp logs`. */
import type { Entry } from "../../../schemas/entry.ts";
import { lastWords } from "../../mcp/plain_text.ts";
import { peek, peekText } from "../../peek.ts";
import { defineCommand, jsonOption, storeOption } from "../cli.ts";
import { exitCodes } from "../exit.ts";
import { locateStore, openReading } from "../host.ts";
import { jsonLine } from "../json_line.ts";
import { printTable, timeText } from "../table.ts";
import { agentFolder, agentOption } from "./ground.ts";
import { connectionsOf } from "./records.ts";

const wordsCharactersMax = 2_000;

/** Shows what the journals know of a server. */
export const command = defineCommand({
  args: ["NAME"],
  about: [
    "Shows what the journals of the agent's sessions know of one MCP server: its starts, lists and ends, with codes, and",
    "the end of what it wrote to its standard error. The oldest session comes first. Nothing is started; the manifest",
    "need not be there any more.",
  ],
  options: { agent: agentOption, store: storeOption, json: jsonOption },
  examples: ["troupe mcp logs docs", "troupe mcp logs docs --agent ./my-agent --json"],
  run: async ({ cli, options, args: [server = ""] }) => {
    const folder = await agentFolder(cli, options);
    const host = await openReading(cli, await locateStore(cli, options.store));
    const { terminal } = cli;
    try {
      const events: ServerEvent[] = [];
      for (const connection of [...await connectionsOf(host, { server, folder })].reverse()) {
        for await (const page of host.readPages(connection)) {
          for (const entry of page) {
            const event = eventIn(entry, connection);
            if (event !== undefined && !isToldAlready(event, events.at(-1))) events.push(event);
          }
        }
      }
      if (options.json) { for (const event of events) terminal.out.line(jsonLine(event)); }
      else if (events.length === 0) {
        terminal.err.line("No session of the agent has had to do with that server yet");
      } else {
        printTable(
          terminal,
          ["TIME", "SESSION", "EVENT", "WHAT"],
          events.map(({ at, connection, event, text }) => [
            timeText(at),
            connection.replace(/^[^@]*@/, ""),
            event,
            text,
          ]),
        );
      }
      return exitCodes.ok;
    } finally {
      await host.close();
    }
  },
});

/** One thing that happened to a server. */
interface ServerEvent {
  readonly at: number;
  readonly connection: string;
  readonly event: "started" | "not_started" | "listed" | "not_listed" | "lost" | "closed";
  /** What it says in short. */
  readonly text: string;
  readonly code?: string | undefined;
}

/** What one entry of a connection's journal tells; most tell nothing. */
function eventIn({ kind, body, at, type }: Entry, connection: string): ServerEvent | undefined {
  const place = { at, connection };
  if (kind === "message" && type === "connection.offered") {
    const why = peek(body, "message", "report", "failure");
    return why === undefined ? undefined : { ...place, event: "not_started", ...reasonOf(why) };
  }
  if (kind !== "outcome") return undefined;
  const isOk = peekText(body, "status") === "ok";
  const why = reasonOf(peek(body, "failure"));
  switch (type) {
    case "mcp.connect":
      return { ...place, ...(isOk ? started(body) : { event: "not_started", ...why }) };
    case "mcp.list":
      return { ...place, ...(isOk ? listed(body) : { event: "not_listed", ...why }) };
    case "mcp.watch":
      return lostIn(body, place);
    case "mcp.close":
      return { ...place, event: "closed", text: endOf(body) };
    default:
      return undefined;
  }
}

/** A server that ended by itself, or with its runtime; what it said of itself meanwhile is no end. */
function lostIn(body: unknown, place: Pick<ServerEvent, "at" | "connection">): ServerEvent | undefined {
  if (peekText(body, "status") !== "ok") {
    return { ...place, event: "lost", ...reasonOf(peek(body, "failure")) };
  }
  if (peekText(body, "value", "type") !== "ended") return undefined;
  const { code, text } = reasonOf(peek(body, "value", "failure"));
  return { ...place, event: "lost", code, text: withWords(text, peekText(body, "value", "end", "stderr")) };
}

/** The answer to those who wait repeats what came before it, unless the server was not even tried. */
function isToldAlready({ event, code, connection }: ServerEvent, last: ServerEvent | undefined): boolean {
  return event === "not_started" && last?.code === code && last?.connection === connection;
}

function reasonOf(why: unknown): Pick<ServerEvent, "text" | "code"> {
  const code = peekText(why, "code");
  return { text: `${code}: ${peekText(why, "message")}`, code };
}

function started(body: unknown): Pick<ServerEvent, "event" | "text"> {
  const name = peekText(body, "value", "server", "name");
  const version = peekText(body, "value", "server", "version");
  const protocol = peekText(body, "value", "protocolVersion");
  const era = peekText(body, "value", "era") || "legacy";
  const took = Math.round(Number(peekText(body, "value", "tookMs")));
  return { event: "started", text: `${name} ${version}, protocol ${protocol} (${era} era), in ${took} ms` };
}

function listed(body: unknown): Pick<ServerEvent, "event" | "text"> {
  const out = peekText(body, "value", "rejectedCount");
  const waiting = peek(body, "value", "quarantined");
  const off = Array.isArray(waiting) ? `, ${waiting.length} to approve` : "";
  return { event: "listed", text: `${peekText(body, "value", "tools")} tools, ${out} left out${off}` };
}

function endOf(body: unknown): string {
  const signal = peekText(body, "value", "signal");
  const code = peekText(body, "value", "code");
  const goodbye = goodbyeText(peek(body, "value", "goodbye"));
  if (goodbye !== undefined) return goodbye;
  const how = signal !== "" ? `signal ${signal}` : code !== "" ? `exit code ${code}` : "it had ended already";
  return withWords(how, peekText(body, "value", "stderr"));
}

/** How a session by HTTP was given back. */
function goodbyeText(goodbye: unknown): string | undefined {
  if (goodbye === undefined) return undefined;
  if (typeof goodbye === "boolean") {
    return goodbye ? "the session was given back" : "its session was not known any more";
  }
  return reasonOf(goodbye).text;
}

/** What happened, with the end of what the server wrote; a failure tells less of that already. */
function withWords(what: string, stderr: string): string {
  const words = lastWords(stderr, wordsCharactersMax);
  if (words === "") return what;
  const [before = ""] = what.split("; its last words: ", 1);
  return `${before}; its last words: ${words}`;
}
