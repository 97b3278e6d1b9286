/** `troupe schema`. */
import { z } from "zod";
import { AuditMessage } from "../../schemas/access.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import { ResolvedCatalog } from "../../schemas/catalog.ts";
import { HostConfig } from "../../schemas/config.ts";
import { Entry } from "../../schemas/entry.ts";
import { Failure } from "../../schemas/failure.ts";
import { McpManifest } from "../../schemas/manifest.ts";
import { CatalogMessage, SessionMessage, SupervisorMessage } from "../../schemas/message.ts";
import { ModelAnswer } from "../../schemas/model.ts";
import { Answer, QuestionSubject } from "../../schemas/question.ts";
import { Script } from "../../schemas/script.ts";
import { ToolDefinition, ToolResultEnvelope } from "../../schemas/tool.ts";
import { DoorRequest, DoorResponse } from "../door/protocol.ts";
import { defineCommand } from "./cli.ts";
import { exitCodes, UsageError } from "./exit.ts";
import { ExportHeader } from "../export/export_format.ts";
import { nearest } from "../../actors/nearest.ts";

/** Every schema that is printed, by the name under which it is asked for. */
const schemas: { readonly [name: string]: readonly [schema: z.ZodType, what: string] } = {
  agent: [AgentDefinition, "agent.yaml"],
  manifest: [McpManifest, "mcp/<server>.yaml"],
  config: [HostConfig, "the host's troupe.yaml"],
  script: [Script, "the script of a scripted model"],
  entry: [Entry, "one entry of a journal, as troupe log --json prints it"],
  export: [ExportHeader, "the first line of an export"],
  "session-message": [SessionMessage, "messages that a session takes"],
  "catalog-message": [CatalogMessage, "messages that a catalog takes"],
  "supervisor-message": [SupervisorMessage, "messages that a supervisor takes"],
  "audit-message": [AuditMessage, "messages that the record of access takes"],
  tool: [ToolDefinition, "the wrapped definition of a tool"],
  "tool-result": [ToolResultEnvelope, "what every tool returns"],
  catalog: [ResolvedCatalog, "the resolved catalog of a turn"],
  "model-answer": [ModelAnswer, "a whole answer of a model"],
  question: [QuestionSubject, "what a question shows"],
  answer: [Answer, "an answer to a question"],
  failure: [Failure, "an expected ending"],
  "door-request": [DoorRequest, "one request at the owner's door"],
  "door-response": [DoorResponse, "one line of an answer at the owner's door"],
};

/** Prints JSON Schemas. */
export const command = defineCommand({
  args: ["[NAME]"],
  about: [
    "Prints the JSON Schema (draft 2020-12) of a file or message; without NAME, the names. The schemas are made from",
    "those that troupe itself parses with.",
  ],
  options: {
    openapi: {
      kind: "flag",
      help: "print the description of the API that troupe serve offers (OpenAPI 3.1)",
    },
  },
  examples: ["troupe schema", "troupe schema agent > agent.schema.json", "troupe schema --openapi"],
  run: async ({ cli, args, options }) => {
    const { out } = cli.terminal;
    const [name] = args;
    if (options.openapi) {
      if (name !== undefined) {
        throw new UsageError("argument_unexpected", "--openapi is printed whole: leave NAME out");
      }
      const { openApiText } = await import("../api/http/openapi.ts");
      out.line(openApiText());
      return exitCodes.ok;
    }
    if (name === undefined) {
      const width = Math.max(...Object.keys(schemas).map((one) => one.length));
      for (const [one, [, what]] of Object.entries(schemas)) out.line(`${one.padEnd(width)}  ${what}`);
      return exitCodes.ok;
    }
    const found = Object.hasOwn(schemas, name) ? schemas[name] : undefined;
    if (found === undefined) {
      const near = nearest(name, Object.keys(schemas));
      const hint = near === undefined ? "see troupe schema" : `did you mean ${near}?`;
      throw new UsageError("schema_unknown", `There is no schema ${JSON.stringify(name)}: ${hint}`);
    }
    // What people write: defaults may be left out. "Any JSON" has no shape to be described.
    const schema = z.toJSONSchema(found[0], { io: "input", unrepresentable: "any" });
    out.line(JSON.stringify({ title: name, ...schema }, undefined, 2));
    return exitCodes.ok;
  },
});
