/** `read_result`: pages through the whole of a result of this session that was cut for the model (LC-15). */
import { z } from "zod";
import { failure } from "../../schemas/failure.ts";
import { Digest } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { ToolResultEnvelope } from "../../schemas/tool.ts";
import { withBareMarks } from "../redact/mark_places.ts";
import { envelopeText } from "./envelope_text.ts";
import { type BuiltinTool, defineTool, errorEnvelope, textEnvelope, type ToolUseContext } from "./tool.ts";
import { head } from "./visible.ts";

const input = z.strictObject({
  result: Digest.describe("What the line [cut: …] names: sha256: and 64 hexadecimal digits"),
  offset: z.int().min(0).max(limits.resultCharactersMax).default(0)
    .describe("First character to read, counted from 0"),
  limit: z.int().min(1).max(limits.resultPageCharactersMax).default(limits.resultPageCharactersMax)
    .describe("Most characters to read"),
});

/** Reads a stretch of a whole result, and says how to go on. Only results of the session that asks can be read. */
export const readResult: BuiltinTool = defineTool({
  name: "read_result",
  title: "Read a long result",
  description: "Reads a stretch of a tool's result that was too long to be shown whole in this conversation.",
  resource: { kind: "result", scope: "session" },
  parallelSafe: false,
  inputSchema: input,
  run: async (wanted, use) => {
    const text = await wholeText(wanted.result, use);
    if (text === undefined) {
      const message = "There is no such result in this session: take the name from a line [cut: …]";
      return errorEnvelope(failure("result_not_found", message));
    }
    if (wanted.offset > text.length) {
      const message = `Cannot read from character ${wanted.offset}: the result has ${text.length}`;
      return errorEnvelope(failure("arguments_invalid", message));
    }
    const page = head(text.slice(wanted.offset), wanted.limit);
    const next = wanted.offset + page.length;
    const rest = text.length - next;
    return textEnvelope(rest === 0 ? page : `${page}\n[${rest} more characters; go on with offset ${next}]`);
  },
});

async function wholeText(digest: string, use: ToolUseContext): Promise<string | undefined> {
  // Whatever a model was talked into asking for: blobs of other sessions and catalogs are none of its business.
  if (!await use.results.has(digest)) return undefined;
  const bytes = await use.blobs.get(digest);
  if (bytes === undefined) return undefined;
  const envelope = ToolResultEnvelope.safeParse(JSON.parse(new TextDecoder().decode(bytes)));
  // What is kept names the secrets that were taken out; a model is not told (DM-51).
  return envelope.success ? withBareMarks(envelopeText(envelope.data)) : undefined;
}
