/** Reads all pages of a server's `tools/list`, within bounds of number, size and time. */
import { RequestError } from "./asked.ts";
import { type Failure, failure, retryableFailure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import { runUntil } from "../effects/deadline.ts";
import { isRecord } from "./json_bounds.ts";
import { rpcCodes, RpcError } from "./protocol.ts";
import { cancelReason, type Connection, McpFault, refusal } from "./request.ts";

/** One page as a server gave it. */
interface Page extends ToolPages {
  readonly next: string | undefined;
}

/** Tools as a server gave them. */
export interface ToolPages {
  readonly tools: readonly unknown[];
  /** How long they count, if the server says so: the shortest of what its pages say. Milliseconds. */
  readonly ttlMs: number | undefined;
}

/**
 * All tools of all pages, unread. Ends early, with what it has, at a cursor that came before and at a page without a
 * new name, for a server that goes round in circles (B84). Throws {@linkcode McpFault}.
 */
export async function listTools(connection: Connection, signal: AbortSignal): Promise<ToolPages> {
  const { clock } = connection;
  const endsAtMs = clock.now() + limits.mcpListMs;
  const tools: unknown[] = [];
  const names = new Set<string>();
  const cursors = new Set<string>();
  let bytes = 0;
  let cursor: string | undefined;
  let ttlMs: number | undefined;
  for (let pages = 1; pages <= limits.mcpListPagesMax; pages++) {
    const deadlineAtMs = Math.min(endsAtMs, clock.now() + limits.mcpListPageMs);
    const page = await readPage(connection, { cursor, deadlineAtMs, signal });
    bytes += sizeOf(page.tools);
    if (bytes > limits.mcpListBytesMax) {
      throw new McpFault(listInvalid(`has more than ${limits.mcpListBytesMax} bytes, the most that is read`));
    }
    ttlMs = pages === 1 ? page.ttlMs : shorter(ttlMs, page.ttlMs);
    const before = names.size;
    for (const name of page.tools.flatMap(nameOf)) names.add(name);
    if (pages > 1 && names.size === before) return { tools, ttlMs };
    for (const tool of page.tools) tools.push(tool);
    if (page.next === undefined || cursors.has(page.next)) return { tools, ttlMs };
    cursors.add(page.next);
    cursor = page.next;
  }
  throw new McpFault(listInvalid(`has more than ${limits.mcpListPagesMax} pages, the most that is read`));
}

/** What one page needs. */
interface PageRequest {
  readonly cursor: string | undefined;
  readonly deadlineAtMs: number;
  readonly signal: AbortSignal;
}

async function readPage(connection: Connection, request: PageRequest): Promise<Page> {
  const { protocol, transport, clock } = connection;
  const { cursor, deadlineAtMs, signal } = request;
  if (transport.loss !== undefined) throw new McpFault(transport.loss);
  const giveUp = new AbortController();
  const params = cursor === undefined ? {} : { cursor };
  let sent = -1;
  const ended = await runUntil({ clock, deadlineAtMs, signal }, () => {
    const answer = protocol.request({ method: "tools/list", params }, { signal: giveUp.signal });
    sent = transport.asked.last;
    return answer;
  });
  if (ended.type === "done") return pageOf(ended.value);
  if (ended.type === "threw") {
    const wasAnswered = sent >= 0 && transport.asked.stateOf(sent) === "over";
    if (wasAnswered && isWithoutTools(connection, ended.error)) {
      return { tools: [], next: undefined, ttlMs: undefined };
    }
    if (wasAnswered) throw new McpFault(refusal("to list its tools", ended.error));
    const told = ended.error instanceof RequestError ? ended.error.failure : undefined;
    throw new McpFault(told ?? transport.loss ?? connectionLost());
  }
  giveUp.abort(cancelReason);
  transport.forget(sent);
  throw new McpFault(
    ended.type === "late"
      ? retryableFailure("mcp_unavailable", "The MCP server did not list its tools in time")
      : failure("mcp_connection_closed", "Listing the tools of the MCP server was given up"),
  );
}

/** A server that declares no tools may not know the question. */
function isWithoutTools({ protocol }: Connection, error: unknown): boolean {
  const isUnknown = error instanceof RpcError && error.code === rpcCodes.methodNotFound;
  return isUnknown && protocol.capabilities["tools"] === undefined;
}

function pageOf(result: { readonly [key: string]: unknown }): Page {
  const { tools, nextCursor, ttlMs } = result;
  if (!Array.isArray(tools)) throw new McpFault(listInvalid("has no tools array"));
  return {
    tools,
    next: typeof nextCursor === "string" && nextCursor !== "" ? nextCursor : undefined,
    ttlMs: typeof ttlMs === "number" && ttlMs >= 0 ? ttlMs : undefined,
  };
}

/** A list counts as long as all of it does. */
function shorter(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : Math.min(one, other);
}

/** Bytes of a page as JSON. One that nests too deep to be written down is as good as endless. */
function sizeOf(tools: readonly unknown[]): number {
  try {
    return new TextEncoder().encode(JSON.stringify(tools)).length;
  } catch {
    return Infinity;
  }
}

function nameOf(tool: unknown): string[] {
  return isRecord(tool) && typeof tool["name"] === "string" ? [tool["name"]] : [];
}

function listInvalid(problem: string): Failure {
  return failure("mcp_list_invalid", `Cannot use the tools of the MCP server: its list ${problem}`);
}

function connectionLost(): Failure {
  return retryableFailure("mcp_connection_lost", "The connection to the MCP server was lost");
}
