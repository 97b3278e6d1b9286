/** MCP at a path of its own, beside the paths of the API. */
import { principalText } from "../../../schemas/principal.ts";
import { peekText } from "../../peek.ts";
import type { McpFront } from "../mcp/mcp_front.ts";
import { admit, type Asked, type HttpAppOptions, type Limiters, TooOften } from "./asked.ts";
import { readBody } from "./request_body.ts";
import { revokedSignal } from "./streams.ts";

/** Where MCP is spoken. */
export const mcpPath = "/mcp";
/** Its methods. */
export const mcpVerbs = ["GET", "POST", "DELETE"] as const;

/** A request of MCP: admitted as any other, and then the protocol's own. */
export async function answerMcp(
  c: Asked,
  answering: HttpAppOptions & { readonly limiters: Limiters; readonly mcp: Pick<McpFront, "answer"> },
): Promise<Response> {
  const { incoming, gone, left, kill, ending } = c.env;
  const { limiters, seams: { clock }, bodyMs, mcp } = answering;
  const caller = await admit(c, answering);
  const { method } = c.req;
  const body = method === "POST" ? await readBody(incoming, { clock, bodyMs }) : undefined;
  const waitMs = limiters.asked?.take([principalText(caller.principal), ...mcpRoute(body)].join(" ")) ?? 0;
  if (waitMs > 0) throw new TooOften(waitMs);
  const { rawHeaders } = incoming;
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  }
  // Whatever is told to a token that holds no more breaks off; what was accepted goes on.
  revokedSignal(caller, clock, left).addEventListener("abort", kill, { once: true });
  const request = new Request(c.req.url, { method, headers, signal: left });
  return await mcp.answer({ request, body, asks: { caller, late: gone }, ending });
}

/** What of a request its rate is counted by: the method, and for a call the tool and the agent. */
function mcpRoute(body: { readonly [name: string]: unknown } | undefined): readonly string[] {
  const params = body?.["params"];
  return [
    "mcp",
    String(body?.["method"] ?? ""),
    peekText(params, "name"),
    peekText(params, "arguments", "address"),
  ];
}
