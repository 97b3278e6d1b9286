/** Sessions as resources of MCP: `troupe://session/ses_...` is the transcript of one, a line of JSON for each item. */
import type { ApiResult } from "../../../schemas/api.ts";
import { apiLimits } from "../../../schemas/api_limits.ts";
import { AgentAddress, type AgentView, type WatchEvent } from "../../../schemas/api_view.ts";
import type { Resource, ResourceTemplateType } from "../../mcp/sdk_server.ts";
import type { ActorApi } from "../actor_api.ts";
import { ApiFailure } from "../api_failure.ts";
import type { Caller } from "../caller.ts";

const scheme = "troupe://";
const mimeType = "application/x-ndjson";

/** How any session is named. */
export const sessionTemplate: ResourceTemplateType = {
  name: "session",
  title: "Session of an agent",
  uriTemplate: `${scheme}session/{id}`,
  description: "What was said and done in a session: a line of JSON for each prompt, answer, call and result",
  mimeType,
};

/** The address that a URI names; undefined if it names none. */
export function addressIn(uri: string): string | undefined {
  const rest = uri.startsWith(scheme) ? uri.slice(scheme.length) : "";
  return AgentAddress.safeParse(rest).data;
}

/** One page of the caller's sessions, the newest first. A cursor is the last address of the page before. */
export async function listSessions(
  api: ActorApi,
  caller: Caller,
  { cursor, signal }: { readonly cursor: string | undefined; readonly signal: AbortSignal },
): Promise<{ readonly resources: Resource[]; readonly nextCursor?: string }> {
  const params = cursor === undefined ? {} : { before: cursor };
  const page = await api.call({ caller, method: "list", params, signal }) as ApiResult<"list">;
  return {
    resources: page.agents.map(resourceOf),
    ...(page.next === undefined ? {} : { nextCursor: page.next }),
  };
}

function resourceOf({ address, title, created_at }: AgentView): Resource {
  const lastModified = new Date(created_at).toISOString();
  return { uri: `${scheme}${address}`, name: address, title, mimeType, annotations: { lastModified } };
}

/** A session as a reader is told it. Of a long one its end: what is left out is counted in the first line. */
export async function readSession(
  api: ActorApi,
  caller: Caller,
  { address, signal }: { readonly address: string; readonly signal: AbortSignal },
): Promise<{ readonly text: string; readonly mimeType: string }> {
  const params = { address, view: "transcript", follow: false };
  const lines: string[] = [];
  let length = 0;
  let cut = 0;
  const events = api.stream({ caller, method: "watch", params, signal });
  for await (const event of events as AsyncIterable<WatchEvent>) {
    if (event.type !== "transcript") continue;
    const line = JSON.stringify({ seq: event.seq, ...event.item });
    lines.push(line);
    length += line.length + 1;
    while (length > apiLimits.mcpTranscriptCharactersMax && lines.length > 1) {
      length -= (lines.shift() ?? "").length + 1;
      cut += 1;
    }
  }
  const head = cut === 0 ? [] : [JSON.stringify({ type: "cut", items: cut })];
  return { text: [...head, ...lines].join("\n"), mimeType };
}

/** True for the refusals that say no more than that a session is not there for the caller. */
export function isNotThere(error: unknown): boolean {
  return error instanceof ApiFailure && (error.code === "agent_not_found" || error.code === "params_invalid");
}
