/** The description of the API by HTTP (OpenAPI 3.1), made from the schemas that requests are parsed with. */
import { z } from "zod";
import { type ApiMethod, apiMethods } from "../../../schemas/api.ts";
import { ApiError } from "../../../schemas/api_error.ts";
import { version } from "../../version.ts";
import { type ApiRoute, apiRoutes, isWatched, pathParameter } from "./routes.ts";

type JsonSchema = { readonly [key: string]: unknown };

interface ObjectSchema extends JsonSchema {
  readonly properties?: { readonly [name: string]: JsonSchema };
  readonly required?: readonly string[];
}

/** What each method does, in one line. */
const summaries: { readonly [M in ApiMethod]: string } = {
  spawn: "Begins an agent, or finds the one of this name",
  list: "The agents that the caller can see, the newest first",
  get: "One agent",
  send: "Gives a prompt; answered once it is durable",
  ask: "Gives a prompt and waits for the end of its turn; the same key again is the same turn",
  resume: "Lets a turn go on that waits since its model failed, and waits for its end",
  cancel: "Cancels the turn of an agent, or a part of it",
  stop: "Ends an agent for good",
  watch: "What an agent did and does, as server-sent events; the id of each says where to go on",
  tree: "An agent with everything below it",
  budget: "What an agent may spend, and what it spent",
  why: "Why an actor does not go on",
  export: "A whole session as lines of JSON",
  questions: "The questions that wait for a person",
  answer: "Decides a question",
  program_register: "Connects a program that brings tools to the sessions of an agent",
  program_refresh: "What a connected program is answered now",
  program_calls: "The calls of a program's tools, as server-sent events; the id of each says where to go on",
  program_report: "The result of a call, or how far it is; the same message id again is the same report",
  invoke: "Opens a call of the program's own tool in the turn that runs",
  heartbeat: "Shows that the program is there: its agents that are to stop with it stop once this lapses",
};

let written: string | undefined;

/** The description as text. */
export function openApiText(): string {
  return written ??= JSON.stringify(openApi(), undefined, 2);
}

/** The description. */
export function openApi(): JsonSchema {
  const paths: { [path: string]: { [verb: string]: JsonSchema } } = {};
  for (const [method, route] of Object.entries(apiRoutes) as [ApiMethod, ApiRoute][]) {
    (paths[route.path] ??= {})[route.verb.toLowerCase()] = operationOf(method, route);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Troupe actor API",
      version,
      license: { name: "MIT", identifier: "MIT" },
      description: [
        "An address stands in a path as it is (session/ses_...), or as one encoded segment.",
        "An Idempotency-Key is kept for 24 hours after the reply: the same command again gets the same reply.",
        "X-Trace-ID, 1 to 64 of A-Z a-z 0-9 . _ -, comes back and goes with what the request leads to.",
      ].join(" "),
    },
    servers: [{ url: "/" }],
    security: [{ token: [] }],
    paths: { ...paths, ...openPaths },
    components: {
      schemas: { ApiError: schemaOf(ApiError, "output") },
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
    },
  };
}

const openPaths = {
  "/v1/health": {
    get: {
      operationId: "health",
      summary: "Whether the server takes requests",
      security: [],
      responses: {
        "200": answered("application/json", healthOf("ok")),
        "503": answered("application/json", healthOf("draining")),
      },
    },
  },
  "/v1/openapi.json": {
    get: {
      operationId: "openapi",
      summary: "This description",
      security: [],
      responses: { "200": answered("application/json", { type: "object" }) },
    },
  },
};

function healthOf(state: string): JsonSchema {
  return { type: "object", properties: { state: { const: state } }, required: ["state"] };
}

function operationOf(method: ApiMethod, { verb, path, status }: ApiRoute): JsonSchema {
  const { kind, scope, params, result } = apiMethods[method];
  const named = pathParameter(path);
  const { properties = {}, required = [], ...rest } = schemaOf(params, "input");
  const fields = Object.entries(properties).filter(([name]) => name !== named);
  const parameters: JsonSchema[] = named === undefined ? [] : [{
    name: named,
    in: "path",
    required: true,
    schema: properties[named] ?? {},
  }];
  if (verb === "GET") parameters.push(...fields.map(([name, schema]) => queryOf(name, schema)));
  if (method === "why") parameters.push({ name: "actor", in: "query", schema: { type: "string" } });
  if (isWatched(method)) {
    parameters.push({ name: "Last-Event-ID", in: "header", schema: { type: "string" } });
  }
  if (kind === "command") {
    parameters.push({ name: "Idempotency-Key", in: "header", required: true, schema: { type: "string" } });
  }
  const body = {
    ...rest,
    properties: Object.fromEntries(fields),
    required: required.filter((name) => name !== named),
  };
  const good = kind === "stream"
    ? answered(isWatched(method) ? "text/event-stream" : "application/x-ndjson", { type: "string" })
    : answered("application/json", schemaOf(result, "output"));
  return {
    operationId: method,
    summary: summaries[method],
    description: `Needs the scope ${scope}.`,
    parameters,
    ...(verb === "POST"
      ? { requestBody: { required: true, content: { "application/json": { schema: body } } } }
      : {}),
    responses: {
      [status]: good,
      ...(method === "spawn" || method === "invoke" ? { "200": good } : {}),
      default: answered("application/json", { $ref: "#/components/schemas/ApiError" }),
    },
  };
}

function queryOf(name: string, schema: JsonSchema): JsonSchema {
  if (name !== "labels") return { name, in: "query", schema };
  return {
    name: "label",
    in: "query",
    description: "KEY=VALUE; may be given more than once",
    schema: { type: "array", items: { type: "string" } },
  };
}

function answered(type: string, schema: JsonSchema): JsonSchema {
  return { description: "Answered", content: { [type]: { schema } } };
}

function schemaOf(schema: z.ZodType, io: "input" | "output"): ObjectSchema {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    override: ({ jsonSchema }) => onePattern(jsonSchema),
  });
  return rest as ObjectSchema;
}

/** Several patterns of one text as one: generators make no sense of a text that is "all of" nothing but patterns. */
function onePattern(schema: { allOf?: readonly { readonly pattern?: string }[]; pattern?: string }): void {
  const { allOf = [] } = schema;
  const patterns = allOf.map(({ pattern }) => pattern);
  const isPlain = allOf.length > 0 && allOf.every((one) => Object.keys(one).join() === "pattern");
  if (!isPlain || patterns.some((pattern) => pattern?.startsWith("^") !== true)) return;
  const last = patterns.pop();
  schema.pattern = `${patterns.map((pattern) => `(?=${pattern})`).join("")}${last}`;
  delete schema.allOf;
}
