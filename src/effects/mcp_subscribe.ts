/** Subscriptions to resources: bounded, without secrets, and kept where a new session with the server finds them. */
import { failure } from "../../schemas/failure.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import type { McpMethod } from "../../schemas/tool.ts";
import type { McpCallResult, McpRequest } from "../mcp/call.ts";
import type { McpClient } from "../mcp/client.ts";

/** Where subscriptions are kept. */
export interface SubscriptionDesk {
  /** How many the session of a connection has, over all its servers. */
  readonly count: (connection: RootAddress) => number;
  /** Keeps one, or forgets it; resolves once that is durable. */
  readonly keep: (connection: RootAddress, uri: string, isWanted: boolean) => Promise<void>;
}

type Send = (request: McpRequest) => Promise<McpCallResult>;

/** What one call changes. */
export interface SubscriptionCall {
  readonly method: McpMethod;
  readonly given: JsonObject;
  readonly client: McpClient;
  readonly connection: RootAddress;
  readonly desk: SubscriptionDesk | undefined;
  readonly isSecret: (text: string) => boolean;
}

/** The same way to send, for a call that changes a subscription; every other call is sent as it is. */
export function sendingFor(call: SubscriptionCall, send: Send): Send {
  if (call.method === "resources/subscribe") return (request) => subscribe(call, () => send(request));
  if (call.method === "resources/unsubscribe") return (request) => unsubscribe(call, () => send(request));
  return send;
}

async function subscribe(
  { given, client: { subscriptions }, connection, desk, isSecret }: SubscriptionCall,
  send: () => Promise<McpCallResult>,
): Promise<McpCallResult> {
  const uri = String(given["uri"]);
  if (desk === undefined || subscriptions === undefined) return refused("nothing here hears of updates");
  // It is written down, and told to every later session of the server.
  if (isSecret(uri)) return refused("its URI holds what looks like a secret, which is not written down");
  const isNew = !subscriptions.has(uri);
  if (isNew && desk.count(connection) >= limits.mcpSubscriptionsMax) {
    return refused(`${limits.mcpSubscriptionsMax} subscriptions are the most: give one up first`);
  }
  // Before it is asked for: the first update may come with the answer.
  subscriptions.add(uri);
  const answered = await send();
  if (answered.status === "returned") await desk.keep(connection, uri, true);
  else if (isNew) subscriptions.delete(uri);
  return answered;
}

async function unsubscribe(
  { given, client: { subscriptions }, connection, desk }: SubscriptionCall,
  send: () => Promise<McpCallResult>,
): Promise<McpCallResult> {
  const uri = String(given["uri"]);
  // Whatever the server says: nobody wants to hear of it any more.
  subscriptions?.delete(uri);
  await desk?.keep(connection, uri, false);
  return await send();
}

function refused(why: string): McpCallResult {
  const problem = failure("mcp_subscription_refused", `Cannot subscribe to this resource: ${why}`);
  return { status: "refused", failure: problem, isUnknown: false };
}
