/**
 * What the test suite of the protocol (`@modelcontextprotocol/conformance`) expects of a server: tools, resources and
 * prompts by these names. Offered with `--suite-features` alone, which nobody else needs.
 */
import {
  type CallToolResult,
  type GetPromptResult,
  type InputRequiredResult,
  ProtocolError,
  type ReadResourceResult,
  type Server,
  type ServerContext,
  type Tool,
} from "../../mcp/sdk_server.ts";
import type { McpFeatures } from "./mcp_features.ts";
import { promptContext, roundTools, wantPromptContext } from "./suite_rounds.ts";

/** One red point, as PNG. */
const image = {
  type: "image",
  mimeType: "image/png",
  data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC",
} as const;
/** No sound at all, as WAV. */
const audio = {
  type: "audio",
  mimeType: "audio/wav",
  data: "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=",
} as const;

function text(words: string) {
  return { type: "text", text: words } as const;
}

function embedded(uri: string) {
  return { type: "resource", resource: { uri, mimeType: "text/plain", text: "What is inside" } } as const;
}

type SuiteTool = (context: ServerContext) => Promise<CallToolResult> | CallToolResult;

const plainTools: { readonly [name: string]: SuiteTool } = {
  test_simple_text: () => ({ content: [text("This is a simple text")] }),
  test_image_content: () => ({ content: [image] }),
  test_audio_content: () => ({ content: [audio] }),
  test_embedded_resource: () => ({ content: [embedded("test://embedded-resource")] }),
  test_multiple_content_types: () => ({
    content: [text("Three kinds"), image, embedded("test://mixed-content-resource")],
  }),
  test_error_handling: () => ({ content: [text("This tool fails by intention")], isError: true }),
  test_logging_tool: async ({ mcpReq }) => {
    await mcpReq.log("info", "Said if it is wanted");
    return { content: [text("Done")] };
  },
  test_tool_with_logging: async ({ mcpReq }) => {
    for (const data of ["Begun", "Under way", "Done"]) await mcpReq.log("info", data);
    return { content: [text("Done")] };
  },
  test_tool_with_progress: async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
      await mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken, progress, total: 100 },
      });
    }
    return { content: [text("Done")] };
  },
};

const wordTools: { readonly [name: string]: string } = {
  test_sampling: "prompt",
  test_elicitation: "message",
};

/** Words of JSON Schema 2020-12 that a listing must not lose. */
const schemaTool: Tool = {
  name: "json_schema_2020_12_tool",
  description: "Has a schema with many words",
  inputSchema: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    $defs: {
      address: {
        $anchor: "addressDef",
        type: "object",
        properties: { street: { type: "string" }, city: { type: "string" } },
      },
    },
    properties: {
      name: { type: "string" },
      address: { $ref: "#/$defs/address" },
      contactMethod: { type: "string", enum: ["phone", "email"] },
      phone: { type: "string" },
      email: { type: "string" },
    },
    allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
    if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
    then: { required: ["phone"] },
    else: { required: ["email"] },
    additionalProperties: false,
  },
};

const tools: readonly Tool[] = [
  ...[...Object.keys(plainTools), ...Object.keys(roundTools)].map((name): Tool => {
    const word = wordTools[name];
    return {
      name,
      description: "For the protocol's own test suite",
      inputSchema: word === undefined
        ? { type: "object", properties: {} }
        : { type: "object", properties: { [word]: { type: "string" } }, required: [word] },
    };
  }),
  schemaTool,
];

const contents: { readonly [uri: string]: ReadResourceResult["contents"][number] } = {
  "test://static-text": { uri: "test://static-text", mimeType: "text/plain", text: "It never changes" },
  "test://static-binary": { uri: "test://static-binary", mimeType: "image/png", blob: image.data },
  "test://watched-resource": {
    uri: "test://watched-resource",
    mimeType: "text/plain",
    text: "It may change",
  },
};
const template = /^test:\/\/template\/([^/]+)\/data$/;

type SuitePrompt = (
  given: { readonly [name: string]: string },
  context: ServerContext,
) => GetPromptResult | InputRequiredResult | Promise<GetPromptResult | InputRequiredResult>;

interface PromptSketch {
  readonly takes: readonly string[];
  readonly make: SuitePrompt;
}

function says(...content: readonly GetPromptResult["messages"][number]["content"][]): GetPromptResult {
  return { messages: content.map((one) => ({ role: "user", content: one })) };
}

const prompts: { readonly [name: string]: PromptSketch } = {
  test_simple_prompt: { takes: [], make: () => says(text("This is a simple prompt")) },
  test_prompt_with_arguments: {
    takes: ["arg1", "arg2"],
    make: ({ arg1, arg2 }) => says(text(`The first is ${arg1}, the second ${arg2}`)),
  },
  test_prompt_with_embedded_resource: {
    takes: ["resourceUri"],
    make: ({ resourceUri = "" }) => says(embedded(resourceUri), text("Read it")),
  },
  test_prompt_with_image: { takes: [], make: () => says(image, text("Look at it")) },
  test_input_required_result_prompt: {
    takes: [],
    make: async (_given, context) => {
      const about = promptContext(context);
      return about === undefined ? await wantPromptContext() : says(text(`In this context: ${about}`));
    },
  },
};

function attach(server: Server): void {
  server.setRequestHandler("prompts/list", () => ({
    prompts: Object.entries(prompts).map(([name, { takes }]) => ({
      name,
      description: "For the protocol's own test suite",
      arguments: takes.map((one) => ({ name: one, required: true })),
    })),
  }));
  server.setRequestHandler("prompts/get", async ({ params }, context) => {
    const prompt = Object.hasOwn(prompts, params.name) ? prompts[params.name] : undefined;
    if (prompt === undefined) throw new ProtocolError(-32_602, "Unknown prompt: see prompts/list");
    return await prompt.make(params.arguments ?? {}, context);
  });
  server.setRequestHandler("completion/complete", () => ({
    completion: { values: [], total: 0, hasMore: false },
  }));
}

/** All of it. */
export const suiteFeatures: McpFeatures = {
  capabilities: { prompts: {}, completions: {}, logging: {} },
  tools,
  resources: Object.values(contents).map(({ uri, mimeType = "" }) => ({ uri, name: uri, mimeType })),
  templates: [{ name: "template", uriTemplate: "test://template/{id}/data", mimeType: "application/json" }],
  call: async (name, given, context) => {
    if (Object.hasOwn(plainTools, name)) return await plainTools[name]?.(context);
    if (Object.hasOwn(roundTools, name)) return await roundTools[name]?.(context, given);
    return name === schemaTool.name ? { content: [text("Called")] } : undefined;
  },
  read: (uri) => {
    const [, id] = template.exec(uri) ?? [];
    const known = Object.hasOwn(contents, uri) ? contents[uri] : undefined;
    if (known !== undefined) return { contents: [known] };
    return id === undefined ? undefined : {
      contents: [{ uri, mimeType: "application/json", text: JSON.stringify({ id, data: `About ${id}` }) }],
    };
  },
  attach,
};
