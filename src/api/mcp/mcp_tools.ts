/** The methods of the API that are tools of MCP: one table, whose schemas are made from `schemas/api.ts`. */
import { z } from "zod";
import { type ApiCall, apiMethods } from "../../../schemas/api.ts";
import { limits } from "../../../schemas/limits.ts";
import type { Tool } from "../../mcp/sdk_server.ts";

interface ToolSketch {
  readonly title: string;
  readonly description: string;
  /** True for what cannot be taken back. */
  readonly isDestructive?: boolean;
}

/** What each is told to be. Who needs more than these has the other carriers. */
const offered = {
  spawn: {
    title: "Begin an agent",
    description:
      "Begins an agent, or finds the one of this name. agent is the name of an agent that is offered " +
      "here, or a whole definition; prompt is its first task, and goes on in the background. Answers its address, " +
      "by which all other tools know it.",
  },
  send: {
    title: "Give a prompt",
    description: "Gives an agent a prompt. Answers once it is durable; the turn goes on in the background.",
  },
  ask: {
    title: "Ask an agent",
    description:
      "Gives an agent a prompt and waits for the end of its turn. With wait_ms it answers `running` " +
      "after so many milliseconds. The turn goes on even if nobody waits: ask again with the same key for its end.",
  },
  resume: {
    title: "Let a turn go on",
    description:
      "Lets the turn of an agent go on that waits since its model failed, for a person or for a time that is not over, " +
      "and waits for its end as ask does. get says what an agent waits for.",
  },
  questions: {
    title: "List open questions",
    description: "The questions of agents that wait for a decision, with what is to be decided.",
  },
  answer: {
    title: "Answer a question",
    description:
      "Decides a question of an agent: allow or deny. shown says what was decided upon; it comes with " +
      "the question.",
  },
  cancel: {
    title: "Cancel work",
    description: "Cancels the turn of an agent, or a part of it. The agent stays.",
    isDestructive: true,
  },
  stop: {
    title: "Stop an agent",
    description: "Ends an agent for good, with all that it began.",
    isDestructive: true,
  },
  get: { title: "Look at an agent", description: "One agent: its title, owner, labels and state." },
  list: {
    title: "List agents",
    description:
      "The agents that you can see, the newest first. next, if it is there, is before of the next page.",
  },
} as const satisfies { readonly [M in ApiCall]?: ToolSketch };

/** Those by which agents work: what they reach, nobody can say. */
const worldly: ReadonlySet<string> = new Set(["spawn", "send", "ask", "resume"]);

/** Name of a method that is a tool. */
export type McpTool = keyof typeof offered;

/** True for the name of a tool. */
export function isMcpTool(name: string): name is McpTool {
  return Object.hasOwn(offered, name);
}

/** True if the tool is a command, which has a key. */
export function takesKey(name: McpTool): boolean {
  return apiMethods[name].kind === "command";
}

interface JsonSchema {
  readonly [key: string]: unknown;
}

const keyAsked = {
  type: "string",
  minLength: 1,
  maxLength: limits.commandKeyBytesMax - 16,
  description:
    "Makes a repeat harmless: the same key again is the same command, with the same answer. Leave it " +
    "out for a new command: one is made for you, and is in the answer.",
};
const keyAnswered = {
  type: "string",
  description: "The key of this command: send it again to repeat nothing",
};

let made: readonly Tool[] | undefined;

/** All tools, as clients see them. */
export function mcpTools(): readonly Tool[] {
  return made ??= (Object.keys(offered) as McpTool[]).map(toolOf);
}

function toolOf(name: McpTool): Tool {
  const { title, description, isDestructive = false }: ToolSketch = offered[name];
  const { kind, params, result } = apiMethods[name];
  const isCommand = kind === "command";
  const asked = schemaOf(params, "input");
  const answered = schemaOf(result, "output");
  return {
    name,
    title,
    description,
    inputSchema: objectSchema(isCommand ? withKey(asked, keyAsked, false) : asked),
    outputSchema: objectSchema(isCommand ? withKey(answered, keyAnswered, true) : answered),
    annotations: {
      readOnlyHint: !isCommand,
      destructiveHint: isDestructive,
      // Only with a key of one's own; a client that repeats a call as it was may have none.
      idempotentHint: !isCommand,
      openWorldHint: worldly.has(name),
    },
  };
}

function schemaOf(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return rest;
}

/** MCP wants the word at the top, also where a union says it in each of its parts. */
function objectSchema(schema: JsonSchema): Tool["inputSchema"] {
  return { ...schema, type: "object" } as Tool["inputSchema"];
}

/** The same schema with the field `key`, in each part of a union: parts take nothing that they do not name. */
function withKey(schema: JsonSchema, key: JsonSchema, isRequired: boolean): JsonSchema {
  for (const union of ["oneOf", "anyOf"]) {
    const parts = schema[union];
    if (Array.isArray(parts)) {
      return { ...schema, [union]: parts.map((part) => withKey(part, key, isRequired)) };
    }
  }
  const { properties = {}, required = [] } = schema as { properties?: JsonSchema; required?: string[] };
  return {
    ...schema,
    properties: { ...properties, key },
    required: isRequired ? [...required, "key"] : required,
  };
}
