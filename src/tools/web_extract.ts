/** `web_extract`: what a page of the web says, as text (DM-16, DM-17, DM-74). */
import { z } from "zod";
import { failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import type { ToolResultEnvelope } from "../../schemas/tool.ts";
import { HttpError } from "../net/http_error.ts";
import { version } from "../version.ts";
import { type BuiltinTool, defineTool, errorEnvelope, textEnvelope, type ToolUseContext } from "./tool.ts";

const input = z.strictObject({
  url: z.string().min(1).max(limits.urlCharactersMax).describe(
    "The page: https, or http where the host allows it",
  ),
  timeout_s: z.int().min(1).max(limits.webMsMax / 1_000).default(limits.webMsDefault / 1_000)
    .describe("How long it may take, in seconds"),
});

/** Reads one page. Where it may lead is for the host's network policy to say; a person is asked before each request. */
export const webExtract: BuiltinTool = defineTool({
  name: "web_extract",
  title: "Read web page",
  description: "Fetches one page of the web and gives its text as Markdown, without navigation and scripts.",
  resource: { kind: "network", scope: "web" },
  capability: "network.fetch",
  parallelSafe: false,
  reach: { riskLevel: "medium", effectClass: "idempotent", approvalPolicy: "prompt" },
  timeoutMs: limits.webMsMax + limits.pageReadMs,
  inputSchema: input,
  run: async ({ url, timeout_s: seconds }, use) => {
    try {
      const bounds = { totalMs: seconds * 1_000, bodyBytesMax: limits.webBodyBytesMax };
      const headers = {
        "accept": "text/html, text/plain;q=0.9, */*;q=0.5",
        "user-agent": `troupe/${version}`,
      };
      const response = await use.fetch(url, { headers, signal: use.signal }, bounds);
      return await read(response, use);
    } catch (error) {
      if (error instanceof HttpError) return errorEnvelope(error.failure);
      throw error;
    }
  },
});

const textual = /^(?:text\/.*|application\/(?:json|xml|javascript|yaml|.*\+(?:json|xml)))$/;

async function read(response: Response, use: ToolUseContext): Promise<ToolResultEnvelope> {
  const [type = "", charset] = typeOf(response.headers.get("content-type") ?? "");
  const isHtml = type === "text/html" || type === "application/xhtml+xml";
  if (!response.ok || !(isHtml || textual.test(type))) {
    await response.body?.cancel();
    return errorEnvelope(
      response.ok
        ? failure(
          "page_not_text",
          `Cannot read the page: it is of the type "${type.slice(0, 100)}", which is no text`,
        )
        : failure("page_refused", `The page was answered with status ${response.status}`),
    );
  }
  const bytes = new Uint8Array(await response.arrayBuffer());
  const text = decode(bytes, charset ?? (isHtml ? charsetIn(bytes) : undefined));
  if (!isHtml) return textEnvelope(text);
  const { readPage } = await import("./readable_page.ts");
  const page = await readPage({ html: text, url: response.url }, use);
  if ("code" in page) return errorEnvelope(page);
  const title = page.title === "" ? [] : [`# ${page.title.replace(/\s+/g, " ").slice(0, 300)}`, ""];
  return textEnvelope([...title, page.markdown].join("\n"));
}

function typeOf(header: string): readonly [type: string, charset?: string] {
  const [type = "", ...parameters] = header.split(";").map((one) => one.trim());
  const charset = parameters.flatMap((one) => /^charset="?([^"]+)"?$/i.exec(one)?.[1] ?? [])[0];
  return charset === undefined ? [type.toLowerCase()] : [type.toLowerCase(), charset];
}

/** What a page says of its own encoding, in its first 1,024 bytes. */
function charsetIn(bytes: Uint8Array): string | undefined {
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, 1_024));
  return /<meta[^>]{0,200}charset\s*=\s*["']?([\w-]{1,40})/i.exec(head)?.[1];
}

/** An encoding that nobody knows is taken for UTF-8; what does not fit it is replaced. */
function decode(bytes: Uint8Array, charset = "utf-8"): string {
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}
