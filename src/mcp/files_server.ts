/**
 * Our own MCP server `files`: reads and searches the files below one folder, and does nothing else (AR-38). Its two
 * tools are the built-in tools `read_file` and `search_files` under other names, with the same guard and bounds.
 */
import { z } from "zod";
import { failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import type { ToolContent, ToolResultEnvelope } from "../../schemas/tool.ts";
import { readLines, readLinesInput } from "../tools/read_file.ts";
import { searchText, searchTextInput, type SearchUse } from "../tools/search_files.ts";
import { errorEnvelope } from "../tools/tool.ts";
import { head, visible } from "../tools/visible.ts";
import {
  CallToolRequestSchema,
  type CallToolResult,
  CancelledNotificationSchema,
  ErrorCode,
  ListToolsRequestSchema,
  type RequestId,
  Server,
  type Tool,
  ToolSchema,
} from "./sdk_v1.ts";
import { Gate } from "./gate.ts";

/** Calls that work at once: each may hold several files in memory. */
const callsAtOnceMax = 4;

/** Options of {@linkcode createFilesServer}. */
export interface FilesServerOptions extends Omit<SearchUse, "signal"> {
  readonly version: string;
  /** Lets so many calls work at once, over all servers that share it. */
  readonly gate?: Gate;
}

/** A tool as clients see it, and what it does. */
interface ProjectTool {
  readonly tool: Tool;
  readonly call: (input: unknown, use: SearchUse) => Promise<CallToolResult>;
}

const projectTools: readonly ProjectTool[] = [
  projectTool({
    name: "read_project_file",
    title: "Read project file",
    description: "Reads a text file of the project. Long files come in pieces: the answer says how to go on.",
    charactersMax: limits.readFileCharactersDefault,
    inputSchema: readLinesInput,
    run: (wanted, { cwd }) => readLines(wanted, cwd),
  }),
  projectTool({
    name: "search_project_text",
    title: "Search project text",
    description: "Finds lines in the text files of the project; answers `path:line: text`, at most " +
      `${limits.searchResultsMax}. Skips binary and very large files, .git and node_modules.`,
    charactersMax: limits.toolOutputCharactersMax,
    inputSchema: z.strictObject({
      query: searchTextInput.shape.pattern,
      regex: searchTextInput.shape.regex
        .describe("If true, the query is a regular expression, without look-around and back-references"),
      path: searchTextInput.shape.path,
      limit: z.int().min(1).max(limits.searchResultsMax).default(limits.searchResultsMax)
        .describe("Most lines to give"),
    }),
    run: ({ query, regex, path, limit }, use) => searchText({ pattern: query, regex, path }, use, limit),
  }),
];

/** Makes a gate for the calls of one server, or of several. */
export function createFilesGate(): Gate {
  return new Gate(callsAtOnceMax);
}

/** Makes the server; it serves once it is connected to a transport. */
export function createFilesServer(options: FilesServerOptions): Server {
  const { version, cwd, clock, gate = createFilesGate() } = options;
  const server = new Server({ name: "troupe-files", version }, { capabilities: { tools: {} } });
  const calls = new Map<RequestId, AbortController>();
  // In place of the SDK's own, which takes the id 0 for none.
  server.setNotificationHandler(CancelledNotificationSchema, ({ params: { requestId } }) => {
    if (requestId !== undefined) calls.get(requestId)?.abort();
  });
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    if (params?.cursor !== undefined) throw new ParamsError("There is only one page, without a cursor");
    return { tools: projectTools.map(({ tool }) => tool) };
  });
  server.setRequestHandler(callRequest, async (request, { requestId, signal: closed }) => {
    const { name, arguments: input = {} } = CallToolRequestSchema.parse(request).params;
    const wanted = projectTools.find(({ tool }) => tool.name === name);
    if (wanted === undefined) throw new ParamsError(`Unknown tool: ${visible(head(name, 200))}`);
    const canceled = new AbortController();
    calls.set(requestId, canceled);
    const signal = AbortSignal.any([closed, canceled.signal]);
    try {
      // One that was canceled while it waited is not answered, so it need not begin.
      return await gate.pass(async () =>
        signal.aborted ? nothing : await wanted.call(input, { cwd, clock, signal })
      );
    } finally {
      if (calls.get(requestId) === canceled) calls.delete(requestId);
    }
  });
  return server;
}

/** Loose, since the SDK calls what fails a handler's own schema an internal error; it checks the rest itself. */
const callRequest = z.looseObject({ method: z.literal("tools/call") });

/** The answer of a call that nobody waits for. */
const nothing: CallToolResult = { content: [] };

/** Parameters that the protocol does not allow. The SDK sends the code and the message. */
class ParamsError extends Error {
  override readonly name = "ParamsError";
  readonly code = ErrorCode.InvalidParams;
}

interface ProjectToolSketch<S extends z.ZodType> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** Longest answer. */
  readonly charactersMax: number;
  readonly inputSchema: S;
  readonly run: (input: z.output<S>, use: SearchUse) => Promise<ToolResultEnvelope>;
}

function projectTool<S extends z.ZodType>(sketch: ProjectToolSketch<S>): ProjectTool {
  const { name, title, description, charactersMax, inputSchema, run } = sketch;
  const { $schema: _, ...schema } = z.toJSONSchema(inputSchema, { io: "input" });
  return {
    tool: ToolSchema.parse({
      name,
      title,
      description,
      inputSchema: schema,
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    }),
    call: async (input, use) => {
      const parsed = inputSchema.safeParse(input);
      if (parsed.success) return resultOf(await run(parsed.data, use), charactersMax);
      const problem = z.prettifyError(parsed.error).replace(/\s+/g, " ");
      const refused = failure("arguments_invalid", `Cannot use these arguments: ${problem}`);
      return resultOf(errorEnvelope(refused), charactersMax);
    },
  };
}

function resultOf({ content, isError }: ToolResultEnvelope, charactersMax: number): CallToolResult {
  const text = fit(content.map(textOf).join("\n"), charactersMax);
  return { content: [{ type: "text", text }], isError };
}

function textOf(piece: ToolContent): string {
  switch (piece.type) {
    case "text":
      return piece.text;
    case "structured":
      return JSON.stringify(piece.value);
    case "error":
      return `${piece.failure.code}: ${piece.failure.message}`;
  }
}

/** The head of a text that is too long, and a line that says what is missing. */
function fit(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text;
  const noteFor = (missing: number) => `\n[cut: ${missing} more characters; ask for less]`;
  const kept = head(text, charactersMax - noteFor(text.length).length);
  return kept + noteFor(text.length - kept.length);
}
