/** Resources of a server that a session subscribed to: kept by the connection, so that a new session of it has them too. */
import { McpNews } from "../schemas/effect.ts";
import { sessionOf } from "../schemas/ids.ts";
import { limits } from "../schemas/limits.ts";
import type { Outgoing } from "../schemas/message.ts";
import type { HistoryItem } from "../schemas/model.ts";
import type { ConnectionContext, ConnectionEvent } from "./connection_context.ts";
import { doneOf } from "./port.ts";
import type { SessionEvent } from "./session_context.ts";

/** The subscriptions after one more, or one less. Those that do not fit were refused before they came here. */
export function withSubscription(
  { subscriptions = [] }: ConnectionContext,
  event: ConnectionEvent,
): Pick<ConnectionContext, "subscriptions"> {
  if (event.type !== "connection.subscribe" && event.type !== "connection.unsubscribe") {
    return { subscriptions };
  }
  const others = subscriptions.filter((uri) => uri !== event.uri);
  if (event.type === "connection.unsubscribe") return { subscriptions: others };
  return { subscriptions: [...others, event.uri].slice(-limits.mcpSubscriptionsMax) };
}

/** True if what the server did by itself is that resources changed. */
export function isUpdated(event: unknown): boolean {
  return McpNews.safeParse(doneOf(event).value).data?.type === "resources_updated";
}

/** What the session is told of resources that changed: a message for each, which its next turn gives to the model. */
export function tellUpdated(
  { address, declaration }: ConnectionContext,
  event: unknown,
): readonly Outgoing[] {
  const news = McpNews.safeParse(doneOf(event).value).data;
  const session = sessionOf(address);
  if (news?.type !== "resources_updated" || session === undefined) return [];
  const { server } = declaration;
  return news.uris.map((uri) => ({
    kind: "message",
    to: session,
    message: { type: "resource.updated", server, uri },
  }));
}

/**
 * The notices for the next turn with one more. A resource of which the model will be told already is not told of twice,
 * however often it changes; answers of other sessions make no room for news of resources, nor the other way round.
 */
export function noticesWith(notices: readonly HistoryItem[], event: SessionEvent): readonly HistoryItem[] {
  if (event.type === "session.answered") {
    const answers = notices.filter((item) => aboutOf(item) === undefined);
    const dropped = new Set(answers.slice(0, Math.max(0, answers.length + 1 - limits.noticesMax)));
    return [...notices.filter((item) => !dropped.has(item)), { type: "notice", seq: event.seq }];
  }
  if (event.type !== "resource.updated") return notices;
  const about = `${event.server} ${event.uri}`;
  const news = notices.filter((item) => aboutOf(item) !== undefined);
  const isKnown = news.some((item) => aboutOf(item) === about);
  if (isKnown || news.length >= limits.mcpSubscriptionsMax) return notices;
  return [...notices, { type: "notice", seq: event.seq, about }];
}

function aboutOf(item: HistoryItem): string | undefined {
  return item.type === "notice" ? item.about : undefined;
}
