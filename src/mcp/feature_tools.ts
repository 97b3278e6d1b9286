/**
 * What a server offers besides tools, as tools of that server: its resources, its prompts, and how their
 * arguments go on. The words are ours; whether the server offers them stands in its greeting.
 */
import type { McpCapability } from "../../schemas/effect.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import type { McpMethod } from "../../schemas/tool.ts";

/** A tool that stands for a request of the protocol. */
export interface FeatureTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mcpMethod: Exclude<McpMethod, "tools/call">;
  readonly inputSchema: JsonObject;
}

const name = { type: "string", minLength: 1, maxLength: 500 };
const uri = { type: "string", minLength: 1, maxLength: limits.mcpUriCharactersMax };
const cursor = {
  type: "string",
  minLength: 1,
  maxLength: limits.mcpCursorCharactersMax + 2,
  description: "The next_cursor of the answer before, for what comes after it",
};
const texts = {
  type: "object",
  additionalProperties: { type: "string", maxLength: 65_536 },
  maxProperties: limits.mcpPromptArgumentsMax,
};

function objectOf(properties: JsonObject, required: string[] = []): JsonObject {
  return { type: "object", properties, required, additionalProperties: false };
}

const resourceTools: readonly FeatureTool[] = [
  {
    name: "list_resources",
    title: "List resources",
    description:
      "Lists the resources of this server that can be read, by their URIs, and then the templates of " +
      "further URIs. Goes on where next_cursor says.",
    mcpMethod: "resources/list",
    inputSchema: objectOf({ cursor }),
  },
  {
    name: "read_resource",
    title: "Read a resource",
    description: "Reads a resource of this server by its URI: one that list_resources names, or one that a " +
      "template makes once its variables are filled in.",
    mcpMethod: "resources/read",
    inputSchema: objectOf({ uri }, ["uri"]),
  },
];

const watchedUri = { ...uri, maxLength: limits.mcpSubscribedUriCharactersMax };

const subscriptionTools: readonly FeatureTool[] = [
  {
    name: "subscribe_resource",
    title: "Subscribe to a resource",
    description:
      "Asks this server to say when a resource changes. At the beginning of a later turn you are told that it " +
      "did, or may have; read it again then if you need it.",
    mcpMethod: "resources/subscribe",
    inputSchema: objectOf({ uri: watchedUri }, ["uri"]),
  },
  {
    name: "unsubscribe_resource",
    title: "Unsubscribe from a resource",
    description: "Asks this server to say no more when a resource changes.",
    mcpMethod: "resources/unsubscribe",
    inputSchema: objectOf({ uri: watchedUri }, ["uri"]),
  },
];

const promptTools: readonly FeatureTool[] = [
  {
    name: "list_prompts",
    title: "List prompts",
    description:
      "Lists the prompts that this server has prepared, with the arguments that each takes. Goes on " +
      "where next_cursor says.",
    mcpMethod: "prompts/list",
    inputSchema: objectOf({ cursor }),
  },
  {
    name: "get_prompt",
    title: "Get a prompt",
    description: "Gets a prompt of this server by its name, with its arguments filled in.",
    mcpMethod: "prompts/get",
    inputSchema: objectOf({ name, arguments: texts }, ["name"]),
  },
];

const completionTool: FeatureTool = {
  name: "complete_argument",
  title: "Complete an argument",
  description: "Asks this server how an argument of a prompt, or a variable of a template, can go on.",
  mcpMethod: "completion/complete",
  inputSchema: objectOf({
    prompt: { ...name, description: "The prompt's name; not with template" },
    template: { ...uri, description: "The URI template as it was listed; not with prompt" },
    argument: { ...name, description: "The argument's or variable's name" },
    value: { type: "string", maxLength: 65_536, description: "What is there of it so far" },
    given: { ...texts, description: "The values of other arguments" },
  }, ["argument", "value"]),
};

/**
 * The tools for what a server has declared. Their names say what they do, as those of the built-in tools do; no name is
 * safe from a server's own tools, so those count where both have one.
 */
export function featureTools(capabilities: readonly McpCapability[]): readonly FeatureTool[] {
  const tools = [
    ...(capabilities.includes("resources") ? resourceTools : []),
    ...(capabilities.includes("subscriptions") ? subscriptionTools : []),
    ...(capabilities.includes("prompts") ? promptTools : []),
  ];
  return tools.length > 0 && capabilities.includes("completions") ? [...tools, completionTool] : tools;
}
