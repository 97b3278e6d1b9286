/** What a tool is called with: the arguments of its request, or, where secrets were taken out, what the model wrote. */
import type { CatalogEntry } from "../../schemas/catalog.ts";
import { type Failure, failure } from "../../schemas/failure.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { checkArguments } from "../../schemas/json_schema.ts";
import { deepFreeze } from "../canonical.ts";
import type { Redactor } from "../redact/redactor.ts";
import { blind } from "./task_patience.ts";
import type { ToolCall, ToolCallOptions } from "./tool_call.ts";

/** What a tool is called with. */
export interface Given {
  readonly input: JsonObject;
  /** Knows what was taken out of the arguments: it must not come back in the result (DM-49). */
  readonly redactor: Redactor;
}

/**
 * What a call is made with. What the model wrote is in memory only, so a restart loses it; the schema was checked without
 * it, so it is checked here, before anything is begun.
 */
export function givenArguments(
  call: ToolCall,
  entry: CatalogEntry,
  { rawArguments, redactor }: Pick<ToolCallOptions, "rawArguments" | "redactor">,
): Given | { readonly refusal: Failure } {
  const { args } = call.request;
  if (args.redacted === undefined) return { input: deepFreeze(args.arguments), redactor };
  const wanted = { ordinal: args.invocation, name: entry.providerName, shown: args.arguments };
  const raw = rawArguments.of(call.root, wanted);
  if (raw === undefined) {
    // What a task is looked after with is not sent again; but nobody knows any more what must not come back.
    if (call.request.port === "mcp.task") {
      return { input: deepFreeze(args.arguments), redactor: blind(redactor) };
    }
    return { refusal: argumentsGone(entry) };
  }
  const problems = checkArguments(entry.definition.inputSchema, raw);
  if (problems.length > 0) {
    const message = `The arguments of "${entry.providerName}" do not fit its schema: ${problems.join("; ")}`;
    return { refusal: failure("arguments_invalid", message) };
  }
  const remembering = redactor.remembering();
  remembering.json(raw, "model");
  return { input: deepFreeze(raw), redactor: remembering };
}

function argumentsGone({ canonicalName }: CatalogEntry): Failure {
  return failure(
    "arguments_gone",
    `The arguments of "${canonicalName}" held a secret, which was in memory only, and the runtime was started anew ` +
      "since: make the call again with all that it needs",
  );
}
