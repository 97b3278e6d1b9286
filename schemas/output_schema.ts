/** The form that an agent's answers must have: a JSON Schema, checked before any session begins. */
import { z } from "zod";
import { JsonObject } from "./json.ts";
import { schemaProblem } from "./json_schema.ts";
import { limits } from "./limits.ts";

/** A JSON Schema for the answer of a turn. What is not understood of it is refused here, not when an answer comes. */
export const OutputSchema = JsonObject.superRefine((schema, { addIssue }) => {
  const refuse = (message: string) => addIssue({ code: "custom", message, input: schema });
  if (JSON.stringify(schema).length > limits.outputSchemaCharactersMax) {
    return refuse(`must have at most ${limits.outputSchemaCharactersMax} characters as JSON`);
  }
  const problem = schemaProblem(schema);
  if (problem !== undefined) refuse(`must be a JSON Schema that is understood: ${problem}`);
});
/** A JSON Schema for the answer of a turn. */
export type OutputSchema = z.infer<typeof OutputSchema>;

/** What is wrong with an answer, in short: none of its values. */
export const OutputProblems = z.array(z.string().max(400)).max(limits.outputProblemsMax);
